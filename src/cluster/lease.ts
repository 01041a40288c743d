import { hash } from 'node:crypto'
import type { PurgeTime } from './clock.ts'

/** The clocks of a machine, in milliseconds. */
export interface Clocks {
  /** Monotonic; the same in all threads. It may stand still while the machine sleeps. */
  mono: number
  /** The wall clock. */
  wall: number
}

/** Whether pages may be served: under the lease, without one in `available` mode, or not at all. */
export type Standing = 'confirmed' | 'unconfirmed' | 'none'

/** Places of the values. */
const [leaseMono, leaseWall, aloneMono, aloneWall, history, position] = [0, 1, 2, 3, 4, 5] as const

/**
 * The lease under which a process serves pages, in memory that its threads share. It ends when either clock says so: the monotonic clock
 * cannot be set, and the wall clock goes on while the machine sleeps.
 */
export class Lease {
  /** To be given to the other thread. */
  readonly memory: SharedArrayBuffer
  readonly #values: Float64Array

  constructor(memory = new SharedArrayBuffer(6 * Float64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#values = new Float64Array(memory)
  }

  /**
   * @param asked read before the database was asked
   * @param lease how long it lasts from then, in milliseconds
   * @param alone how long pages are served after its end
   */
  grant(asked: Clocks, lease: number, alone: number): void {
    const values = this.#values
    values[aloneMono] = asked.mono + lease + alone
    values[aloneWall] = asked.wall + lease + alone
    values[leaseWall] = asked.wall + lease
    values[leaseMono] = asked.mono + lease
  }

  /** Ends it at once, and with it the time without one. */
  drop(): void {
    this.#values.fill(0, leaseMono, history)
  }

  /**
   * Once the wall clock has passed the end of the lease, the end is final: that clock may be set back later, and the monotonic one does not
   * count the time of a sleep. A lease that another thread grants at the same moment is lost until the next renewal.
   *
   * @param now read after the request arrived, the monotonic clock first
   */
  standing({ mono, wall }: Clocks): Standing {
    const values = this.#values
    if (wall >= values[leaseWall]!) values[leaseMono] = 0
    if (wall >= values[aloneWall]!) values[aloneMono] = 0
    if (mono < values[leaseMono]!) return 'confirmed'
    return mono < values[aloneMono]! ? 'unconfirmed' : 'none'
  }

  /** Tells the cache whether it may serve pages now. */
  readonly reader = { standing: (): Standing => this.standing(readClocks()) }

  /** Records the last purge that this process has applied, and its database. The database may change only without a lease. */
  moveTo(identity: string, number: number): void {
    this.#values[history] = historyOf(identity)
    this.#values[position] = number
  }

  /** The last purge that this process has applied; null without a lease. */
  now(clocks: Clocks): PurgeTime | null {
    const values = this.#values
    const time = { history: values[history]!, number: values[position]! }
    // The other thread ends the lease before it changes the history.
    return this.standing(clocks) === 'confirmed' && values[history] === time.history ? time : null
  }
}

/** A number that identifies a database and its history. */
export function historyOf(identity: string): number {
  return Number.parseInt(hash('sha256', identity, 'hex').slice(0, 12), 16)
}

/** The clocks of this machine. */
export function readClocks(): Clocks {
  const [seconds, nanoseconds] = process.hrtime()
  return { mono: seconds * 1000 + nanoseconds / 1e6, wall: Date.now() }
}
