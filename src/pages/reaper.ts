import { PagecacheError } from '../errors.ts'
import { newBodyFile, type BodyFiles, type WrittenFile } from './body-files.ts'
import type { LivePage } from './file-uses.ts'
import type { PageIndex } from './page-index.ts'
import type { Room } from './room.ts'
import type { SharedIndex } from './shared-index.ts'

/** Most dead pages removed per transaction. */
const slice = 64
/** How long a slice removes files, in milliseconds: a slow disk must not hold up the event loop for long. */
const longest = 5
/** The share of a file that live pages must need; otherwise their bodies move to another file. */
const leastUsed = 0.75
/** Files remembered to be rewritten; the next clean-up finds others. */
const mostThin = 1_000

interface ReaperOptions {
  shared: SharedIndex
  bodies: BodyFiles
  room: Room
}

/** Removes dead pages and their bodies. A file goes with the last live page whose body it has. */
export class Reaper {
  readonly #options: ReaperOptions
  /** Thin files, with the bytes that no live page needs. */
  readonly #thin = new Map<string, number>()
  #slicing: Promise<boolean> | null = null

  constructor(options: ReaperOptions) {
    this.#options = options
  }

  /** Bytes of the files to be rewritten that no live page needs. */
  get unneeded(): number {
    return [...this.#thin.values()].reduce((sum, bytes) => sum + bytes, 0)
  }

  /**
   * Removes some dead pages, or rewrites a file that has become thin. False when nothing was to be done. Simultaneous callers share a slice:
   * another one would find the same pages.
   */
  slice(): Promise<boolean> {
    return (this.#slicing ??= this.#slice().finally(() => (this.#slicing = null)))
  }

  /**
   * Bodies go before rows, so that after a crash a row still names the file to be removed. They are removed synchronously, which takes a
   * fraction of the processor time of Node's thread pool: no thread that serves visitors does this while it has a purge thread.
   */
  async #slice(): Promise<boolean> {
    const { shared, bodies } = this.#options
    // Files that find no place in the list would stay as they are.
    if (this.#thin.size > mostThin - slice && (await this.rewriteNext())) return true
    const dead = shared.read([], (index) => index.choices.dead(slice))
    if (dead.length === 0) return this.rewriteNext()
    const ids: number[] = []
    const kept: string[] = []
    const until = performance.now() + longest
    for (const [file, pages] of Map.groupBy(dead, (page) => page.file)) {
      if (this.#isUnneeded(file)) bodies.removeNow(file)
      else kept.push(file)
      for (const { id } of pages) ids.push(id)
      if (performance.now() > until) break
    }
    await shared.write((index) => index.write(() => index.choices.drop(ids)))
    // Another process may have removed the last of the other pages meanwhile.
    const unused = shared.read<string[]>([], (index) => kept.filter((file) => !index.files.has(file)))
    for (const file of unused) bodies.removeNow(file)
    return true
  }

  /** Removes a file that no live page needs, and notes one that is thin. */
  async consider(file: string): Promise<void> {
    if (this.#isUnneeded(file)) await this.#options.bodies.remove(file)
  }

  /** Whether no live page needs a file. Notes one that is thin. */
  #isUnneeded(file: string): boolean {
    // When the index is unavailable, every file counts as needed.
    const unknown = { pages: 1, needed: 1, size: 1 }
    const { pages, needed, size } = this.#options.shared.read(unknown, (index) => index.files.useOf(file))
    this.#thin.delete(file)
    if (pages > 0 && this.#thin.size < mostThin && needed < leastUsed * size) this.#thin.set(file, size - needed)
    return pages === 0
  }

  /** Moves the bodies of a thin file. False when there is none, or storage fails. */
  async rewriteNext(): Promise<boolean> {
    const [file] = this.#thin.keys()
    if (file === undefined || this.#options.room.isShort) return false
    this.#thin.delete(file)
    try {
      await this.#rewrite(file)
      return true
    } catch (error) {
      // Without space, file handles or a turn to write it stays as it is: a later clean-up finds it again.
      if (!(error instanceof PagecacheError)) this.#options.shared.fail(error)
      return false
    }
  }

  /** Moves the bodies of live pages to a new file. A body that cannot be read is noticed at its next use. */
  async #rewrite(file: string): Promise<void> {
    const { shared, bodies } = this.#options
    const kept: LivePage[] = []
    const content: Buffer[] = []
    for (const page of shared.read<LivePage[]>([], (index) => index.files.pages(file))) {
      const body = bodies.readNow(page)
      if (body === null) continue
      kept.push(page)
      content.push(body)
    }
    if (kept.length === 0) return
    const written = bodies.write(newBodyFile(kept[0]!.key), content)
    try {
      await shared.write((index) => index.write(() => this.#relocate(index, file, kept, written)))
    } catch (error) {
      if (written.isPlaced) await this.consider(written.file)
      else await bodies.discard(written)
      throw error
    }
    for (const each of [file, written.file]) await this.consider(each)
  }

  #relocate(index: PageIndex, from: string, kept: readonly LivePage[], written: WrittenFile): void {
    const { bodies } = this.#options
    for (const [at, { id }] of kept.entries()) index.writes.relocate(id, from, written.bodies[at]!)
    bodies.place(written)
  }
}
