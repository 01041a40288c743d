import type { Live } from './watched.ts'

type Slot = Live['slots'][number]

/** The request in each slot; null for a free slot. */
export type Seats = readonly (Slot | null)[]

/**
 * Assigns each request in progress a slot that it keeps until it ends, so that its row does not move when others end.
 *
 * @param least minimum number of slots: the limit of requests in progress
 */
export function seat(before: Seats, slots: readonly Slot[], least: number): Seats {
  const coming = new Map(slots.map((slot) => [keyOf(slot), slot]))
  const seats: (Slot | null)[] = before.map((sitting) => {
    const slot = sitting && coming.get(keyOf(sitting))
    if (slot) coming.delete(keyOf(slot))
    return slot ?? null
  })
  for (const slot of coming.values()) {
    const free = seats.indexOf(null)
    if (free < 0) seats.push(slot)
    else seats[free] = slot
  }
  while (seats.length < least) seats.push(null)
  // Superfluous slots are dropped from the end.
  while (seats.length > least && seats.at(-1) === null) seats.pop()
  return seats
}

function keyOf({ worker, url, since }: Slot): string {
  return `${worker} ${url} ${since}`
}

/** Keeps the slots from one frame to the next. Rendering the same figures again changes nothing. */
export class Seating {
  readonly #known = new WeakMap<Live, Seats>()
  #latest: Seats = []

  of(live: Live): Seats {
    const known = this.#known.get(live)
    if (known) return known
    const least = live.origins.reduce((sum, { limit }) => sum + Math.floor(limit), 0)
    this.#latest = seat(this.#latest, live.slots, least)
    this.#known.set(live, this.#latest)
    return this.#latest
  }
}
