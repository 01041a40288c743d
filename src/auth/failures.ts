import { addressBlock } from '../lib/address-block.ts'
import type { SharedCounts } from '../lib/shared-counts.ts'
import { Remembered } from './remembered.ts'

/** Within so many milliseconds so many failures are forgiven. */
const window = 60_000
const mostOfAddress = 10
const mostOfClient = 10

/** More addresses and clients than these are not remembered; who comes with more than so many addresses needs no other luck. */
const mostKept = 20_000

interface Count {
  failures: number
  /** When the counting begins anew, milliseconds. */
  until: number
}

/**
 * Counts failed logins, by address and by client, in memory. An address that fails too often is not listened to for a while. A client
 * that is tried too often from anywhere has its failures answered with the limit, but whoever comes from an address in good standing
 * with the right secret still gets in: nobody can lock a client out by guessing at it. The processes of a daemon count together.
 */
export class Failures {
  readonly #addresses = new Remembered<Count>(mostKept)
  readonly #clients = new Remembered<Count>(mostKept)
  readonly #now: () => number
  readonly #tellAddress: ((network: string) => void) | undefined
  readonly #tellClient: ((client: string) => void) | undefined

  /** @param now monotonic milliseconds */
  constructor(now: () => number, shared: SharedCounts | null = null) {
    this.#now = now
    // At once: who guesses at one process after the other is not given the time of a batch.
    this.#tellAddress = shared?.join('failures of addresses', 0, (network, count) =>
      this.#count(this.#addresses, network, count),
    )
    this.#tellClient = shared?.join('failures of clients', 0, (client, count) =>
      this.#count(this.#clients, client, count),
    )
  }

  /** Seconds until an address is listened to again; null where it is now. */
  limitOf(address: string): number | null {
    return this.#limit(this.#addresses.get(addressBlock(address)), mostOfAddress)
  }

  /** Notes a failure; the seconds to wait where that was one too many for the client, else null. */
  note(address: string, client: string | null): number | null {
    const network = addressBlock(address)
    this.#count(this.#addresses, network, 1)
    this.#tellAddress?.(network)
    if (client === null) return null
    this.#count(this.#clients, client, 1)
    this.#tellClient?.(client)
    const count = this.#clients.get(client)
    return count !== undefined && count.failures > mostOfClient ? this.#limit(count, mostOfClient) : null
  }

  #count(counts: Remembered<Count>, key: string, failures: number): void {
    const known = counts.get(key)
    const now = this.#now()
    counts.set(
      key,
      known !== undefined && now < known.until
        ? { ...known, failures: known.failures + failures }
        : { failures, until: now + window },
    )
  }

  #limit(count: Count | undefined, most: number): number | null {
    const now = this.#now()
    return count === undefined || now >= count.until || count.failures < most
      ? null
      : Math.ceil((count.until - now) / 1000)
  }
}
