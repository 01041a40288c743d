import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { releaseLock, renewLock } from './scripts.ts'
import type { Server } from './server.ts'

/** How long a node that died keeps the others waiting, in milliseconds. */
const lockFor = 5_000
/** How often a node renews its locks, in milliseconds. */
const renewEvery = 2_000
/** How long a node waits while none of the awaited fetches ends, in milliseconds. */
const waitFor = 1_000
/** How many times longer it waits for one page while others arrive. */
const patience = 10
/** The first and longest pause between two checks of other nodes' locks, in milliseconds. */
const firstPause = 5
const longestPause = 50
/** Maximum number of locks in one check, which must not keep Redis busy. */
const mostAtOnce = 500

/** A lock of this node. */
export interface Lock {
  release(): Promise<unknown>
}

/** A page that another node is fetching. */
interface Waiting {
  /** Total of the pauses since a fetch last ended, and of all pauses, in milliseconds. */
  idle: number
  total: number
  ended: Promise<void>
  end(): void
}

/** Locks on pages, each of which lets one node fetch while the others wait. */
export class Locks {
  readonly #server: Server
  readonly #waitFor: number
  /** Tokens of this node's locks, by name. */
  readonly #held = new Map<string, string>()
  readonly #waiting = new Map<string, Waiting>()
  readonly #timer: NodeJS.Timeout
  #pause = firstPause
  #isLooking = false

  constructor(server: Server, longest = waitFor) {
    this.#server = server
    this.#waitFor = longest
    this.#timer = setInterval(() => this.#renew(), renewEvery)
    this.#timer.unref()
  }

  /** Takes the lock on a page; null while another node has it. @throws Error while Redis fails; then every node fetches */
  async take(key: string): Promise<Lock | null> {
    const name = this.#server.names('write').lock(key)
    const token = randomBytes(12).toString('base64url')
    const reply = await this.#server.run('write', ['SET', name, token, 'NX', 'PX', String(lockFor)])
    if (reply === null) return null
    this.#held.set(name, token)
    return { release: () => this.#release(name, token) }
  }

  #release(name: string, token: string): Promise<unknown> {
    if (this.#held.get(name) === token) this.#held.delete(name)
    return this.#server.script(releaseLock, name, token)
  }

  /** Renews this node's locks: if the shop is slow or has many requests, a fetch may take longer than a lock lasts. */
  #renew(): void {
    for (const [name, token] of this.#held)
      // If a lock expires, the other nodes fetch the page themselves.
      this.#server.script(renewLock, name, token, String(lockFor)).catch(() => {})
  }

  /**
   * Resolves when the lock of another node has ended, Redis fails, or no awaited fetch has ended for a second, so the shop or the other node
   * is slow. Counts the pauses instead of elapsed time: while this node itself is busy, its visitors wait anyway.
   */
  async end(key: string): Promise<void> {
    let name: string
    try {
      name = this.#server.names('read').lock(key)
    } catch {
      return
    }
    const known = this.#waiting.get(name)
    if (known !== undefined) return known.ended
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const end = () => {
      this.#waiting.delete(name)
      resolve()
    }
    this.#waiting.set(name, { idle: 0, total: 0, ended, end })
    this.#pause = firstPause
    if (!this.#isLooking) void this.#look()
    return ended
  }

  async #look(): Promise<void> {
    this.#isLooking = true
    while (this.#waiting.size > 0) {
      const wait = Math.min(this.#pause, this.#waitFor)
      this.#pause = Math.min(longestPause, this.#pause * 2)
      const awaited = [...this.#waiting]
      await pause(wait)
      const ended = await this.#ended(awaited)
      for (const each of ended) each.end()
      for (const [, each] of awaited) {
        each.total += wait
        each.idle = ended.length > 0 ? 0 : each.idle + wait
        if (each.idle >= this.#waitFor || each.total >= patience * this.#waitFor) each.end()
      }
    }
    this.#isLooking = false
  }

  /** The awaited pages whose locks have ended; all of them while Redis fails. */
  async #ended(awaited: readonly [string, Waiting][]): Promise<Waiting[]> {
    const ended: Waiting[] = []
    for (let first = 0; first < awaited.length; first += mostAtOnce) {
      const some = awaited.slice(first, first + mostAtOnce)
      const values = await this.#server.run('read', ['MGET', ...some.map(([name]) => name)]).catch(() => [])
      for (const [index, [, each]] of some.entries()) if (!(values as unknown[])[index]) ended.push(each)
    }
    return ended
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
