import { addressBlock } from '../lib/address-block.ts'
import type { SharedCounts } from '../lib/shared-counts.ts'
import { LRUCache } from 'lru-cache'

/** Failures are counted within this window (milliseconds). */
const window = 60_000
const maxPerAddress = 10
const maxPerClient = 10

/** Most addresses and most clients in memory. */
const maxKept = 20_000

interface Count {
  failures: number
  /** End of the window (milliseconds). */
  until: number
}

/**
 * Counts failed logins by address and by client, in memory. An address with too many failures is blocked for a while. Too many failures
 * for one client limit further failures, but the right secret from an address that is not blocked still succeeds: an attacker cannot lock
 * a client out by guessing. The processes of a daemon share their counts.
 */
export class Failures {
  readonly #addresses = new LRUCache<string, Count>({ max: maxKept })
  readonly #clients = new LRUCache<string, Count>({ max: maxKept })
  readonly #now: () => number
  readonly #shareAddress: ((network: string) => void) | undefined
  readonly #shareClient: ((client: string) => void) | undefined

  /** @param now monotonic milliseconds */
  constructor(now: () => number, shared: SharedCounts | null = null) {
    this.#now = now
    // Shared without delay, so that an attacker gains nothing by switching between processes.
    this.#shareAddress = shared?.join('failures of addresses', 0, (network, count) =>
      this.#add(this.#addresses, network, count),
    )
    this.#shareClient = shared?.join('failures of clients', 0, (client, count) =>
      this.#add(this.#clients, client, count),
    )
  }

  /** Seconds until an address is unblocked; null if it is not blocked. */
  limitOf(address: string): number | null {
    return this.#limit(this.#addresses.get(addressBlock(address)), maxPerAddress)
  }

  /** Counts a failure. Returns the seconds to wait if the client has too many, else null. */
  count(address: string, client: string | null): number | null {
    const network = addressBlock(address)
    this.#add(this.#addresses, network, 1)
    this.#shareAddress?.(network)
    if (client === null) return null
    this.#add(this.#clients, client, 1)
    this.#shareClient?.(client)
    const count = this.#clients.get(client)
    return count !== undefined && count.failures > maxPerClient ? this.#limit(count, maxPerClient) : null
  }

  #add(counts: LRUCache<string, Count>, key: string, failures: number): void {
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
