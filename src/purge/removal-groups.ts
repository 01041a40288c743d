import type { PageStore, SharedRemoval } from '../pages/page-store.ts'

type Removal = Omit<SharedRemoval, 'trace'>

interface Waiting {
  removal: Removal
  resolve(pages: number): void
  reject(error: unknown): void
}

/**
 * Removals without a log entry: a visitor's request changed a page, or a proxy between this cache and the shop was purged. Removals
 * that arrive together share a transaction.
 */
export class RemovalGroups {
  readonly #pages: PageStore
  #waiting: Waiting[] = []
  #working = false

  constructor(pages: PageStore) {
    this.#pages = pages
  }

  /** Resolves to the number of removed pages. @throws STORE_BUSY, STORE_FULL */
  remove(removal: Removal): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ removal, resolve, reject })
      setImmediate(() => void this.#work())
    })
  }

  async #work(): Promise<void> {
    if (this.#working) return
    this.#working = true
    while (this.#waiting.length > 0) {
      const group = this.#waiting
      this.#waiting = []
      try {
        const removed = await this.#pages.removeTogether(group.map(({ removal }) => removal))
        this.#waiting.unshift(...group.slice(removed.length))
        for (const [index, { urls, isWhole }] of removed.entries()) {
          const pages = urls.flat().length
          if (isWhole) group[index]!.resolve(pages)
          else this.#removeRest(group[index]!, pages)
        }
      } catch {
        // Alone, each one can free space on a full disk, or gets its own error.
        for (const waiting of group) this.#removeRest(waiting, 0)
      }
    }
    this.#working = false
  }

  #removeRest({ removal: { selection, soft = false }, resolve, reject }: Waiting, before: number): void {
    this.#pages.remove(selection, { soft }).then((pages) => resolve(before + pages), reject)
  }
}
