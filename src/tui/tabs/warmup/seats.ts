import type { Live } from './watched.ts'

type Slot = Live['slots'][number]

/** Who sits where; null for a free seat. */
export type Seats = readonly (Slot | null)[]

/**
 * Gives every request under way a seat that it keeps until it ends, so that the list stands still while others come and go.
 *
 * @param places seats that there are at least: as many requests as may be under way
 */
export function seat(before: Seats, slots: readonly Slot[], places: number): Seats {
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
  while (seats.length < places) seats.push(null)
  // Seats that are needed no more go from the end.
  while (seats.length > places && seats.at(-1) === null) seats.pop()
  return seats
}

function keyOf({ worker, url, since }: Slot): string {
  return `${worker} ${url} ${since}`
}

/** Keeps the seats from one frame to the next. Rendering the same figures again changes no seat. */
export class Seating {
  readonly #known = new WeakMap<Live, Seats>()
  #latest: Seats = []

  of(live: Live): Seats {
    const known = this.#known.get(live)
    if (known) return known
    const places = live.origins.reduce((sum, { limit }) => sum + Math.floor(limit), 0)
    this.#latest = seat(this.#latest, live.slots, places)
    this.#known.set(live, this.#latest)
    return this.#latest
  }
}
