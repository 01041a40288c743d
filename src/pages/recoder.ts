import { LRUCache } from 'lru-cache'
import { newBodyFile, type BodyFiles } from './body-files.ts'
import type { BodyReads } from './body-reads.ts'
import { decode, encode } from './codec.ts'
import type { Page } from './page.ts'
import type { Room } from './room.ts'
import type { SharedIndex } from './shared-index.ts'

interface Parts {
  shared: SharedIndex
  reads: BodyReads
  bodies: BodyFiles
  room: Room
  now: () => number
  /** Frees a file that a page no longer needs, or its remains. */
  onLeft(file: string): Promise<void>
}

const mostPages = 10_000

/** The coding of thoroughly compressed bodies. Pages are first stored in a cheaper one. */
const thorough = 'br'

/** Pages that wait to be compressed thoroughly; each is tried once. */
export class PagesToRecode {
  readonly #pages: Page[] = []
  readonly #tried = new LRUCache<number, true>({ max: mostPages })

  add(page: Page): void {
    if (this.#pages.length >= mostPages || this.#tried.has(page.id) || !mayRecode(page)) return
    this.#tried.set(page.id, true)
    this.#pages.push(page)
  }

  get size(): number {
    return this.#pages.length
  }

  next(): Page | undefined {
    return this.#pages.shift()
  }
}

/** Whether thorough compression may save bytes. */
function mayRecode({ encoding, range, headers }: Page): boolean {
  return (
    encoding !== 'identity' &&
    encoding !== thorough &&
    range === null &&
    !headers.some(([name, value]) => name.toLowerCase() === 'cache-control' && /no-transform/i.test(value))
  )
}

/**
 * Compresses stored pages thoroughly. A page keeps its id, hits, tags and staleness; its body gets a new file. Readers
 * with the old coding recognise the change by the size, which must therefore differ (`PageReads.body`).
 */
export class Recoder {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Null when the page was removed or changed meanwhile, or nothing is saved. @throws storage errors */
  async recode(page: Page): Promise<Page | null> {
    const { shared, reads, bodies, room } = this.#parts
    const body = await reads.all(page)
    if (body === null) return null
    const made = await encode(await decode(body, page.encoding, page.originalSize), thorough)
    if (made.length >= body.length) return null
    const before = shared.read(null, (index) => index.reads.body(page))
    const written = await room.retry(async () => bodies.write(newBodyFile(page.key), [made]))
    let recoded: Page | null = null
    try {
      recoded = await shared.write((index) =>
        index.write(() => {
          const changed = index.writes.recode(page, written.bodies[0]!, thorough)
          if (changed !== null) bodies.place(written)
          return changed
        }),
      )
    } finally {
      if (recoded === null) await bodies.discard(written)
      else if (before !== null) await this.#parts.onLeft(before.file)
    }
    return recoded
  }
}
