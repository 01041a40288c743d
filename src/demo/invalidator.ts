import type { VarnishGateway } from './gateway.ts'

/**
 * Shopware's delayed invalidation: changes only note their tags; a scheduled task sends them, every five minutes by default in 6.7. Tags
 * that are sent are forgotten, whether a proxy has accepted them or not.
 */
export class CacheInvalidator {
  readonly #gateway: VarnishGateway
  readonly #noted = new Set<string>()
  readonly #timer: NodeJS.Timeout | undefined

  /** @param interval of the task, in milliseconds; null: tags are only sent by `sendNoted` */
  constructor(gateway: VarnishGateway, interval: number | null) {
    this.#gateway = gateway
    if (interval !== null) this.#timer = setInterval(() => void this.sendNoted(), interval)
    this.#timer?.unref()
  }

  /** @param force sends the tags at once, as the field `sw-force-cache-invalidate: 1` of the admin API does */
  async invalidate(tags: readonly string[], force = false): Promise<void> {
    for (const tag of tags) this.#noted.add(tag)
    if (force) await this.sendNoted()
  }

  /** The scheduled task `shopware.invalidate_cache`, or `cache:clear:delayed`. Returns the number of tags. */
  async sendNoted(): Promise<number> {
    const tags = [...this.#noted]
    this.#noted.clear()
    await this.#gateway.invalidate(tags)
    await this.#gateway.flush()
    return tags.length
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
