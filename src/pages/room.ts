import { statfs as statfsLater } from 'node:fs'
import { promisify } from 'node:util'
import { PagecacheError } from '../errors.ts'
import { formatBytes } from '../lib/format-bytes.ts'
import type { BodyFiles } from './body-files.ts'
import type { DeadPage } from './eviction-order.ts'
import { faultOf, isFull } from './faults.ts'
import type { PageIndex } from './page-index.ts'
import type { SharedIndex } from './shared-index.ts'

/**
 * Space left free for records, which unlike pages are not disposable: this many bytes and inodes, or a twentieth of the
 * file system if that is less.
 */
const floorBytes = 64 * 1024 ** 2
const floorInodes = 1_000
const floorShare = 20

/** Default limit of the bodies in bytes, or a tenth of the space available to them if that is less. */
const usualLimit = 10 * 1024 ** 3
const usualShare = 10
/** Of the whole file system: a daemon that starts while it is full would otherwise never cache. */
const leastShare = 100

/** Pages evicted before each retry of a write that found no space. */
const goes = [4, 16, 64]

/**
 * Free space for this user, and how much of it pages must leave free. `inodes` is null when the file system has no
 * fixed number.
 */
export interface Space {
  bytes: number
  totalBytes: number
  floorBytes: number
  inodes: number | null
  floorInodes: number
}

/** Without `node:fs/promises`, which takes each command that reads the page store two milliseconds to load. */
const statfs = promisify(statfsLater)

/** @throws the system's error when the directory does not exist */
export async function spaceOf(directory: string): Promise<Space> {
  const { bavail, bsize, blocks, ffree, files } = await statfs(directory)
  return {
    bytes: bavail * bsize,
    totalBytes: blocks * bsize,
    floorBytes: Math.min(floorBytes, (blocks * bsize) / floorShare),
    inodes: files > 0 ? ffree : null,
    floorInodes: Math.min(floorInodes, files / floorShare),
  }
}

/** The default limit of the bodies in bytes. `used`: bytes that they take already. */
export async function automaticLimit(directory: string, used: number): Promise<number> {
  const space = await spaceOf(directory).catch(() => null)
  if (space === null) return usualLimit
  const share = Math.max((space.bytes + used) / usualShare, space.totalBytes / leastShare)
  return Math.max(1, Math.min(usualLimit, Math.floor(share)))
}

export interface RoomOptions {
  shared: SharedIndex
  bodies: BodyFiles
  directory: string
  now: () => number
  onWarning: (message: string) => void
}

/** Frees space by evicting the least useful pages when the file system is full, or nearly so. */
export class Room {
  readonly #options: RoomOptions
  #making: Promise<unknown> = Promise.resolve()
  #short = false
  /** Pages whose bodies are removed, which the index could not yet record. */
  #unrecorded: Given = { generation: null, dead: [], live: [] }

  constructor(options: RoomOptions) {
    this.#options = options
  }

  /** Whether free space was below the floor at the last check. */
  get isShort(): boolean {
    return this.#short
  }

  /** Checks free space. Returns `isShort`. */
  async look(): Promise<boolean> {
    const space = await spaceOf(this.#options.directory).catch(() => null)
    // A vanished directory is recreated elsewhere.
    if (space === null) return (this.#short = false)
    const short = space.bytes < space.floorBytes || (space.inodes !== null && space.inodes < space.floorInodes)
    if (short && !this.#short) {
      const left = `${formatBytes(space.bytes)}${space.inodes === null ? '' : ` and ${space.inodes} inodes`}`
      this.#options.onWarning(
        `The file system of ${this.#options.directory} has only ${left} left: evicting the least recently used pages`,
      )
    }
    return (this.#short = short)
  }

  /**
   * Runs a write and retries it a few times after evicting pages when there is no space.
   * @throws what the write throws
   */
  async retry<T>(write: () => Promise<T>): Promise<T> {
    let failure: unknown
    for (const pages of [0, ...goes]) {
      try {
        return await (pages === 0 ? write() : this.#exclusively(() => this.#makeRoomFor(write, pages)))
      } catch (error) {
        if (!isFull(error instanceof PagecacheError ? error.cause : error)) throw error
        failure = error
        this.#short = true
      }
    }
    throw failure
  }

  /**
   * Evicts a number of pages: dead ones first, then expired ones, then the least recently used. Returns how many there
   * were.
   */
  make(pages: number): Promise<number> {
    return this.#exclusively(async () => {
      const given = await this.#giveUp(pages)
      await this.#note()
      return given
    })
  }

  /** Records the evicted pages only after the write: a removal must still count and trace them. */
  async #makeRoomFor<T>(write: () => Promise<T>, pages: number): Promise<T> {
    await this.#giveUp(pages)
    try {
      return await write()
    } finally {
      await this.#note()
    }
  }

  /** Runs one at a time, so that two writes do not count on the space of the same page. */
  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#making.then(work)
    this.#making = done.catch(() => undefined)
    return done
  }

  /**
   * Removes bodies first: on a full disk the index cannot even record that a page was removed. Pages that it has not
   * recorded are not chosen again, since they free nothing. Returns the number of bodies.
   */
  async #giveUp(pages: number): Promise<number> {
    const { shared, bodies } = this.#options
    const generation = shared.current?.generation ?? null
    if (this.#unrecorded.generation !== generation) this.#unrecorded = { generation, dead: [], live: [] }
    const { dead, live } = this.#unrecorded
    const given = new Set([...dead, ...live])
    // Removing a file that live pages share with dead ones would cost more than asked for.
    const removed = shared
      .read<readonly DeadPage[]>([], (index) =>
        index.choices.dead(pages + given.size).filter(({ file }) => index.files.useOf(file).pages === 0),
      )
      .filter(({ id }) => !given.has(id))
      .slice(0, pages)
    const useless = shared.read([], (index) => this.#leastUseful(index, pages - removed.length, given))
    const files = new Set([...removed, ...useless].map(({ file }) => file))
    await Promise.all([...files].map((file) => bodies.remove(file)))
    shared.read(undefined, shrink)
    dead.push(...removed.map(({ id }) => id))
    live.push(...useless.map(({ id }) => id))
    return removed.length + useless.length
  }

  /** The least useful pages that are not in `given`, with those that share their files. At least `most`, unless fewer are left. */
  #leastUseful(index: PageIndex, most: number, given: ReadonlySet<number>): DeadPage[] {
    const chosen = new Map<number, DeadPage>()
    for (const { id, file } of most > 0 ? index.choices.leastUseful(this.#options.now(), most + given.size) : []) {
      if (chosen.size >= most) break
      if (given.has(id) || chosen.has(id)) continue
      chosen.set(id, { id, file })
      for (const page of index.files.pages(file)) if (!given.has(page.id)) chosen.set(page.id, page)
    }
    return [...chosen.values()]
  }

  /** If there is still no space to record it, the missing bodies are noticed at their next use. */
  async #note(): Promise<void> {
    const { shared } = this.#options
    const { generation, dead, live } = this.#unrecorded
    if (shared.current === null || shared.current.generation !== generation || dead.length + live.length === 0) return
    try {
      await shared.write((index) =>
        index.write(() => {
          index.choices.drop(dead)
          index.writes.evict(live, 'disk')
        }),
      )
      this.#unrecorded = { generation, dead: [], live: [] }
    } catch (error) {
      if (!(error instanceof PagecacheError) && faultOf(error) === null) throw error
    }
  }
}

/** On a small file system the index's log may take the space that bodies have freed. */
function shrink(index: PageIndex): void {
  try {
    index.shrink()
  } catch (error) {
    if (faultOf(error) === null) throw error
  }
}

/** Ids of pages whose bodies are removed, in one generation of the index. */
interface Given {
  generation: string | null
  dead: number[]
  live: number[]
}
