import { unread, type BodyFiles } from './body-files.ts'
import type { BodyReader } from './body-reader.ts'
import { isStorageError } from './faults.ts'
import type { Page } from './page.ts'
import type { StoredBody } from './page-reads.ts'
import type { OpenBody } from './page-store.ts'
import type { SharedIndex } from './shared-index.ts'

interface Parts {
  shared: SharedIndex
  bodies: BodyFiles
  onWarning(message: string): void
  onBuried(): void
}

/** Milliseconds. A body that takes longer to read may not be in the system's cache but on a slow disk. */
const slowRead = 5
/** Milliseconds without reads that block the event loop, after a slow one: visitors of other pages are not delayed again. */
const slowPause = 1_000
/**
 * The pause after slow reads for which no disk was read, as a multiple of the time that a read took. One alone means a busy processor or a garbage
 * collection, and does not pause; a second one within that time means a disk that the kernel does not account for.
 */
const busyPause = 10
/** Milliseconds after which the blocks that the process has read are counted again: other threads read from disks too. */
const lookInterval = 50

/** Reads the bodies of pages, and removes pages whose body is missing or altered. */
export class BodyReads {
  readonly #parts: Parts
  #damaged = 0
  #slowUntil = 0
  #suspiciousUntil = 0
  /** Blocks that the process had read from disks when it last looked, and that time. */
  #blocksRead = process.resourceUsage().fsRead
  #lookedAt = performance.now()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Number of bodies found missing or altered. */
  get damaged(): number {
    return this.#damaged
  }

  /** The whole body; null when it is unreadable or its page was removed. */
  async all(page: Page): Promise<Buffer | null> {
    const opened = await this.#open(page)
    if (opened === null) return null
    const { reader, stored } = opened
    try {
      const body = await reader.readAll()
      // The page may have been removed meanwhile: its body must not enter the memory tier.
      return this.#isCurrent(page, stored) ? body : null
    } catch (error) {
      await this.#buryAltered(page, stored, error)
      return null
    } finally {
      await reader.close()
    }
  }

  /** Whether small bodies are not read without waiting, after slow reads. */
  get isPaused(): boolean {
    return performance.now() < this.#slowUntil
  }

  /**
   * A small body, without waiting. Null when it cannot be had this way; `all` finds out why.
   *
   * @param into as for `BodyFiles.readNow`
   */
  now(page: Page, into?: Buffer): Buffer | null {
    const started = performance.now()
    return started < this.#slowUntil ? null : this.nowFrom(this.#find(page), into, started)
  }

  /** The same where the caller knows the place of the body; null for none. */
  nowFrom(stored: StoredBody | null, into?: Buffer, started = performance.now()): Buffer | null {
    if (started - this.#lookedAt > lookInterval) this.#look(started)
    const body = stored === null ? null : this.#parts.bodies.readNow(stored, into)
    const ended = performance.now()
    if (ended - started > slowRead) this.#pauseAfter(started, ended)
    return body
  }

  #find(page: Page): StoredBody | null {
    return this.#parts.shared.read<StoredBody | null>(
      null,
      (index) => index.reads.foundBody(page) ?? index.reads.body(page),
    )
  }

  /** Pauses after a slow read: for a second if it was from a disk, otherwise for less, and only if it is not the only one. */
  #pauseAfter(started: number, ended: number): void {
    const isFromDisk = this.#look(ended)
    const until = ended + Math.min(slowPause, (ended - started) * busyPause)
    if (isFromDisk) this.#slowUntil = ended + slowPause
    else if (started < this.#suspiciousUntil) this.#slowUntil = until
    this.#suspiciousUntil = until
  }

  /** Whether the process has read from disks since it last looked. */
  #look(now: number): boolean {
    const before = this.#blocksRead
    this.#lookedAt = now
    this.#blocksRead = process.resourceUsage().fsRead
    return this.#blocksRead > before
  }

  /** The body in pieces; null as for `all`. */
  async open(page: Page): Promise<OpenBody | null> {
    const opened = await this.#open(page)
    if (opened === null) return null
    const { reader, stored } = opened
    const read = async (piece: number, into: Buffer) => {
      try {
        return await reader.read(piece, into)
      } catch (error) {
        await this.#buryAltered(page, stored, error)
        throw error
      }
    }
    return { size: reader.size, read, close: () => reader.close() }
  }

  async #open(page: Page): Promise<{ reader: BodyReader; stored: StoredBody } | null> {
    const { shared, bodies } = this.#parts
    const find = () => shared.read<StoredBody | null>(null, (index) => index.reads.body(page))
    let stored = find()
    if (stored === null) return null
    let reader = await bodies.open(stored)
    // It may have moved to another file.
    const now = reader === 'altered' ? find() : null
    if (now !== null && now.file !== stored.file) reader = await bodies.open((stored = now))
    if (reader === 'altered') await this.#bury(page, stored)
    if (typeof reader === 'string') return null
    if (this.#isCurrent(page, stored)) return { reader, stored }
    await reader.close()
    return null
  }

  /** Whether the page still has this body, perhaps in another file by now. */
  #isCurrent(page: Page, { digest }: StoredBody): boolean {
    return this.#parts.shared.read(false, (index) => index.reads.body(page)?.digest.equals(digest) === true)
  }

  async #buryAltered(page: Page, stored: StoredBody, error: unknown): Promise<void> {
    if (unread(error) === 'altered') await this.#bury(page, stored)
  }

  /** Removes a page whose body is altered, unless it was removed or replaced while we read it. */
  async #bury(page: Page, stored: StoredBody): Promise<void> {
    const { shared, onWarning, onBuried } = this.#parts
    if (shared.look()) return
    try {
      const buried = await shared.write((index) =>
        index.write(() => (index.reads.body(page)?.file === stored.file ? index.writes.kill([page.id]) : 0)),
      )
      this.#damaged += buried
      if (buried > 0)
        onWarning(
          `Removed ${page.url} from the cache: its stored body was missing or altered (${this.#damaged} so far)`,
        )
      onBuried()
    } catch (error) {
      if (!isStorageError(error)) throw error
      this.#damaged += 1
    }
  }
}
