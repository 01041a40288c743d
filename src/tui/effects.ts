import { readableUrl } from '../lib/safe-text.ts'
import type { Feeds } from './poller.ts'
import { toReport } from './report.ts'
import type { Source } from './source.ts'
import type { Effect, Notice, RunAction, View } from './view.ts'

/** What effects of keys need of the session and of the terminal. */
export interface EffectsOptions {
  source: Source
  view(): View
  /** Changes the view and redraws. */
  show(change: Partial<View>): void
  notice(text: string, tone: Notice['tone']): void
  /** The values on the screen. */
  feeds(): Feeds
  /** Polls now, to show the effect of a command. */
  hurry(): void
  leave(): void
  suspend(): void
  /** Milliseconds since the epoch. */
  time(): number
  /** Puts a text into the clipboard of the terminal. */
  copy(text: string): void
  /** Writes a file and returns its path. */
  save(file: string, content: string): Promise<string>
}

/** Carries out what keys ask for. */
export class Effects {
  readonly #to: EffectsOptions
  /** By run with a request in flight: the change of its concurrency that is still to be requested. */
  readonly #changes = new Map<string, number>()

  constructor(options: EffectsOptions) {
    this.#to = options
  }

  follow(effect: Effect): void {
    switch (effect.kind) {
      case 'detach':
        return this.#to.leave()
      case 'suspend':
        return this.#to.suspend()
      case 'perform':
        return void this.#perform(effect.action, effect.id)
      case 'adjust':
        return void this.#adjust(effect.id, effect.by)
      case 'copy':
        this.#to.copy(effect.text)
        return this.#to.notice(`Copied ${readableUrl(effect.text)}`, 'good')
      case 'inspect':
        return void this.#inspect(effect.url)
      case 'save':
        return void this.#save()
    }
  }

  /** Sends a request to the store. The screen shows it as done only after the store has confirmed it. */
  async #perform(action: RunAction, id: string): Promise<void> {
    const { source, show, notice, hurry } = this.#to
    try {
      await source.perform(`warmup.${action}`, { progressId: id })
    } catch (error) {
      show({ asked: null })
      notice(`Cannot ${action} the warmup: ${reason(error)}`, 'bad')
    }
    hurry()
  }

  /** Changes the concurrency. A key that repeats while a request is in flight is added to the next one. */
  async #adjust(id: string, by: number): Promise<void> {
    const waiting = this.#changes.get(id)
    if (waiting !== undefined) return void this.#changes.set(id, waiting + by)
    const { source, notice, hurry } = this.#to
    try {
      for (let change = by; change !== 0; change = this.#changes.get(id)!) {
        this.#changes.set(id, 0)
        const { progress } = (await source.perform('warmup.concurrency', { progressId: id, change })) as {
          progress: { concurrency: number }
        }
        notice(`Concurrency ${progress.concurrency}`, 'good')
      }
    } catch (error) {
      notice(`Cannot change the concurrency: ${reason(error)}`, 'bad')
    }
    this.#changes.delete(id)
    hurry()
  }

  async #inspect(url: string): Promise<void> {
    const { source, view, show } = this.#to
    const lines = await source
      .perform('cache.inspect', { url })
      .then(toInspection, (error: unknown) => [`Cannot inspect the page: ${reason(error)}`])
    const { overlay } = view()
    // Another row may have been opened in the meantime.
    if (overlay.kind !== 'detail' || overlay.detail.url !== url) return
    show({ overlay: { ...overlay, inspection: lines } })
  }

  async #save(): Promise<void> {
    const { source, feeds, time, save, notice } = this.#to
    const { file, content } = toReport(source.name, feeds(), time())
    await save(file, content).then(
      (path) => notice(`Saved as ${path}`, 'good'),
      (error: unknown) => notice(`Cannot save ${file}: ${reason(error)}`, 'bad'),
    )
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The result of `cache.inspect` as lines. */
function toInspection(value: unknown): string[] {
  const { reason: why, explanation = [] } = value as { reason: string; explanation?: string[] }
  return [why, ...explanation.filter((sentence) => sentence !== why)]
}
