import { statfs } from 'node:fs/promises'
import { PagecacheError } from '../errors.ts'
import { formatBytes } from '../lib/format-bytes.ts'
import type { BodyFiles } from './body-files.ts'
import { faultOf, isFull } from './faults.ts'
import type { PageIndex } from './page-index.ts'
import type { SharedIndex } from './shared-index.ts'

/** Pages are disposable, records are not: this much of the file system is left free for them, or a twentieth where that is less. */
const floorBytes = 64 * 1024 ** 2
const floorInodes = 1_000
const floorShare = 20

/** The limit of the bodies where none is configured, or a tenth of what they could take where that is less. */
const usualLimit = 10 * 1024 ** 3
const usualShare = 10

/** Pages that one full write gives up, more where fewer were not enough. */
const goes = [4, 16, 64]

/** What a file system has left for this user, and how much of it pages leave alone. `inodes` is null where their number is not fixed. */
export interface Space {
  bytes: number
  floorBytes: number
  inodes: number | null
  floorInodes: number
}

/** @throws the system's error where the directory does not exist */
export async function spaceOf(directory: string): Promise<Space> {
  const { bavail, bsize, blocks, ffree, files } = await statfs(directory)
  return {
    bytes: bavail * bsize,
    floorBytes: Math.min(floorBytes, (blocks * bsize) / floorShare),
    inodes: files > 0 ? ffree : null,
    floorInodes: Math.min(floorInodes, files / floorShare),
  }
}

/** Bytes that bodies may take where no limit is configured. `used`: what they take already. */
export async function automaticLimit(directory: string, used: number): Promise<number> {
  const space = await spaceOf(directory).catch(() => null)
  return space === null ? usualLimit : Math.max(1, Math.min(usualLimit, Math.floor((space.bytes + used) / usualShare)))
}

export interface RoomOptions {
  shared: SharedIndex
  bodies: BodyFiles
  directory: string
  now: () => number
  onWarning: (message: string) => void
}

/** Makes room on a file system that is full, or about to be, from the pages of least use. */
export class Room {
  readonly #options: RoomOptions
  #making: Promise<unknown> = Promise.resolve()
  #short = false

  constructor(options: RoomOptions) {
    this.#options = options
  }

  /** Whether the file system had less than the floor when it was last looked at. */
  get isShort(): boolean {
    return this.#short
  }

  /** Looks at the file system. Returns `isShort`. */
  async look(): Promise<boolean> {
    const space = await spaceOf(this.#options.directory).catch(() => null)
    // A directory that has vanished is made anew by others.
    if (space === null) return (this.#short = false)
    const short = space.bytes < space.floorBytes || (space.inodes !== null && space.inodes < space.floorInodes)
    if (short && !this.#short) {
      const left = `${formatBytes(space.bytes)}${space.inodes === null ? '' : ` and ${space.inodes} inodes`}`
      this.#options.onWarning(
        `The file system of ${this.#options.directory} has ${left} left; the least recently used pages are evicted`,
      )
    }
    return (this.#short = short)
  }

  /**
   * Runs a write; where the file system has no room for it, again after each of a few goes at making some.
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

  /** Gives up that many pages: dead ones first, then expired ones, then the least recently used. Returns how many there were. */
  make(pages: number): Promise<number> {
    return this.#exclusively(async () => {
      const given = await this.#giveUp(pages)
      await this.#note(given)
      return given.dead.length + given.live.length
    })
  }

  /** A removal counts and traces the pages that it takes: those given up for it are noted only after it. */
  async #makeRoomFor<T>(write: () => Promise<T>, pages: number): Promise<T> {
    const given = await this.#giveUp(pages)
    try {
      return await write()
    } finally {
      await this.#note(given)
    }
  }

  /** One at a time, so that two writes do not count on the room of the same page. */
  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#making.then(work)
    this.#making = done.catch(() => undefined)
    return done
  }

  /** Bodies go first: on a full disk the index cannot even note that a page goes. */
  async #giveUp(pages: number): Promise<Given> {
    const { shared, bodies, now } = this.#options
    const dead = shared.read([], (index) => index.choices.dead(pages))
    const live = shared.read([], (index) => index.choices.leastUseful(now(), pages - dead.length))
    await Promise.all([...dead, ...live].map((page) => bodies.remove(page.file)))
    shared.read(undefined, shrink)
    return { dead: dead.map((page) => page.id), live: live.map((page) => page.id) }
  }

  /** Where there is still no room for this, each of the pages is found missing when it is asked for. */
  async #note({ dead, live }: Given): Promise<void> {
    const { shared } = this.#options
    if (shared.current === null || dead.length + live.length === 0) return
    try {
      await shared.write((index) =>
        index.write(() => {
          index.choices.drop(dead)
          index.writes.kill(live)
        }),
      )
    } catch (error) {
      if (!(error instanceof PagecacheError) && faultOf(error) === null) throw error
    }
  }
}

/** On a small file system the log of the index may take what bodies have given back. */
function shrink(index: PageIndex): void {
  try {
    index.shrink()
  } catch (error) {
    if (faultOf(error) === null) throw error
  }
}

/** Numbers of pages whose bodies are gone. */
interface Given {
  dead: number[]
  live: number[]
}
