import type { ApiAnswer } from './api-answer.ts'

/**
 * Equal questions that come in one turn of the event loop are answered once: a dashboard's many viewers cost what one does. What is
 * answered in a turn had arrived when it began (src/lib/once-per-turn.ts).
 */
export class SharedAnswers {
  readonly #underWay = new Map<string, Promise<ApiAnswer>>()

  ask(question: string, answer: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
    const shared = this.#underWay.get(question)
    if (shared !== undefined) return shared
    if (this.#underWay.size === 0) setImmediate(() => this.#underWay.clear())
    const asking = answer().then((given) => ({ ...given, text: JSON.stringify(given.value) }))
    this.#underWay.set(question, asking)
    return asking
  }
}
