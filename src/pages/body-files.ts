import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
  writevSync,
} from 'node:fs'
import { lstat, open, readdir, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { letVisitorsIn } from '../lib/priority.ts'
import { BodyReader } from './body-reader.ts'
import { codeOf } from './faults.ts'
import type { StoredBody } from './page-reads.ts'
import { AlteredBody, digestsOf, listSize, pieceSize, sha256 } from './piece-digests.ts'
import { directoryMode, fileMode, type Places } from './places.ts'

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants

/** A file with one body or several under its temporary name, before `place`. */
export interface WrittenFile {
  file: string
  bodies: readonly StoredBody[]
  temporary: string
  isPlaced: boolean
}

/** A new name for a file with the body of a page, and perhaps others, relative to the directory of bodies. */
export function newBodyFile(key: string): string {
  const name = hash('sha256', key, 'hex').slice(0, 32)
  return `${name.slice(0, 2)}/${name}.${randomBytes(4).toString('hex')}`
}

/**
 * Why a body could not be read. `altered`: missing or different from what was stored. `unreadable`: possibly intact,
 * but not readable now (no file handles, no permission).
 */
export type Unread = 'altered' | 'unreadable'

/**
 * The files of bodies. The small bodies of a transaction share one, a large body has its own
 * (docs/decisions/0093-shared-body-files.md). File names come from the hash of a key, never from a URL.
 */
export class BodyFiles {
  readonly #places: Places

  constructor(places: Places) {
    this.#places = places
  }

  /**
   * Writes bodies under a temporary name, without syncing: the digest detects a body torn by a power cut. Synchronous:
   * it runs in threads that serve no visitors, and costs a fifth of the asynchronous calls.
   * @param content one body of any size, or several of one piece each
   * @throws the system's error
   */
  write(file: string, content: readonly Buffer[]): WrittenFile {
    const temporary = join(this.#places.temporary, randomBytes(16).toString('hex'))
    const bodies: StoredBody[] = []
    const parts: Buffer[] = []
    const fileSize = content.reduce((sum, { length }) => sum + length + listSize(length), 0)
    let at = 0
    for (const body of content) {
      const { digest, list } = digestsOf(body)
      bodies.push({ file, fileSize, at, size: body.length, digest })
      parts.push(body)
      if (list.length > 0) parts.push(list)
      at += body.length + list.length
    }
    letVisitorsIn()
    const handle = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, fileMode)
    try {
      writeWhole(handle, parts)
      this.#prepareShard(file.slice(0, 2))
    } catch (error) {
      unlinkSync(temporary)
      throw error
    } finally {
      closeSync(handle)
    }
    return { file, bodies, temporary, isPlaced: false }
  }

  #prepareShard(shard: string): void {
    const path = join(this.#places.bodies, shard)
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found?.isDirectory()) return
    // An attacker may have placed a link or file here: remove it, not its target.
    if (found !== undefined) unlinkSync(path)
    makeDirectory(path)
  }

  /**
   * Gives a file its final name, once: the transaction around it may be repeated. The last step before its row is
   * committed, so that a crash leaves no row without a body.
   */
  place(written: WrittenFile): void {
    if (!written.isPlaced) renameSync(written.temporary, this.#path(written.file))
    written.isPlaced = true
  }

  async discard(written: WrittenFile): Promise<void> {
    if (written.isPlaced) await this.remove(written.file)
    else await unlinkQuietly(written.temporary)
  }

  async remove(file: string): Promise<void> {
    await unlinkQuietly(this.#path(file))
  }

  /** As `remove`, synchronously. */
  removeNow(file: string): void {
    try {
      unlinkSync(this.#path(file))
    } catch {
      // As with `remove`: what is left is an orphan, which a later sweep removes.
    }
  }

  /** A file without a name, which the system frees when it is closed. @throws the system's error */
  async openNameless(): Promise<FileHandle> {
    const path = join(this.#places.temporary, randomBytes(16).toString('hex'))
    const handle = await open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, fileMode)
    await unlinkQuietly(path)
    return handle
  }

  /** Opens a body for reading in pieces. Refuses links, pipes and devices. */
  async open(stored: StoredBody): Promise<BodyReader | Unread> {
    let handle
    try {
      handle = await open(this.#path(stored.file), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      return await BodyReader.over(handle, stored)
    } catch (error) {
      await handle?.close()
      return unread(error)
    }
  }

  /**
   * Reads a body of one piece at once; null when it is larger, unreadable or altered.
   *
   * @param into where it is read, at least as large as a piece; default: memory of its own
   */
  readNow(stored: StoredBody, into?: Buffer): Buffer | null {
    if (stored.size > pieceSize) return null
    let file: number | null = null
    try {
      file = openSync(this.#path(stored.file), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      const body = into?.subarray(0, stored.size) ?? Buffer.allocUnsafeSlow(stored.size)
      const isWhole = readSync(file, body, 0, body.length, stored.at) === body.length
      return isWhole && timingSafeEqual(sha256(body), stored.digest) ? body : null
    } catch {
      return null
    } finally {
      if (file !== null) closeSync(file)
    }
  }

  /** The file names in each shard, for the orphan search. Other entries are skipped. */
  async *shards(): AsyncGenerator<{ shard: string; names: string[] }> {
    for (const shard of await listQuietly(this.#places.bodies)) {
      if (!/^[0-9a-f]{2}$/.test(shard)) continue
      const path = join(this.#places.bodies, shard)
      const found = await lstatQuietly(path)
      if (found?.isDirectory()) yield { shard, names: await listQuietly(path) }
    }
  }

  /** Removes an orphaned body unless it is younger than `moment` (ms, on the file system's clock). */
  async removeOlder(file: string, moment: number): Promise<boolean> {
    return removeOlder(this.#path(file), moment)
  }

  async removeTemporaryOlder(moment: number): Promise<void> {
    for (const name of await listQuietly(this.#places.temporary)) {
      await removeOlder(join(this.#places.temporary, name), moment)
    }
  }

  /**
   * The file system's current time in ms, the only clock comparable to file times. Null when the directory has
   * vanished. @throws the system's error
   */
  async now(): Promise<number | null> {
    const path = join(this.#places.temporary, randomBytes(16).toString('hex'))
    const handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, fileMode).catch((error: unknown) => {
      if (isReplaced(codeOf(error))) return null
      throw error
    })
    if (handle === null) return null
    try {
      return (await handle.stat()).mtimeMs
    } finally {
      await handle.close()
      await unlinkQuietly(path)
    }
  }

  #path(file: string): string {
    // `join` would take a microsecond; the store has named the file itself.
    return `${this.#places.bodies}/${file}`
  }
}

/** Classifies a read error. */
export function unread(error: unknown): Unread {
  return error instanceof AlteredBody || isReplaced(codeOf(error)) ? 'altered' : 'unreadable'
}

function isReplaced(code: string | null): boolean {
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'EISDIR' || code === 'ENXIO'
}

async function removeOlder(path: string, moment: number): Promise<boolean> {
  const found = await lstatQuietly(path)
  if (found === null || found.mtimeMs > moment) return false
  return unlinkQuietly(path)
}

/** A full disk may take the start and refuse the rest. */
function writeWhole(handle: number, parts: readonly Buffer[]): void {
  let written = writevSync(handle, parts)
  for (const part of parts) {
    for (let at = Math.min(part.length, written); at < part.length;) at += writeSync(handle, part, at)
    written = Math.max(0, written - part.length)
  }
}

function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: directoryMode })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

async function lstatQuietly(path: string): Promise<Awaited<ReturnType<typeof lstat>> | null> {
  try {
    return await lstat(path)
  } catch {
    return null
  }
}

async function listQuietly(path: string): Promise<string[]> {
  try {
    return await readdir(path)
  } catch {
    return []
  }
}

async function unlinkQuietly(path: string): Promise<boolean> {
  try {
    await unlink(path)
    return true
  } catch {
    return false
  }
}
