import { currentTurn } from '../../lib/once-per-turn.ts'
import type { Answer } from '../answer.ts'

/**
 * Performs equal GET requests that arrive in one turn of the event loop once, so that many viewers of a dashboard cost what one does. Nothing is
 * cached: a request that arrives a turn later is performed again (src/lib/once-per-turn.ts).
 */
export class SharedAnswers {
  readonly #pending = new Map<string, Promise<Answer>>()
  #turn = -1

  /** @param key identifies the requests that may share an answer */
  get(key: string, perform: () => Promise<Answer>): Promise<Answer> {
    const turn = currentTurn()
    if (turn !== this.#turn) this.#pending.clear()
    this.#turn = turn
    const shared = this.#pending.get(key)
    if (shared !== undefined) return shared
    // So that no answer stays in memory until the next request.
    if (this.#pending.size === 0) setImmediate(() => this.#pending.clear())
    const pending = perform()
    this.#pending.set(key, pending)
    return pending
  }
}
