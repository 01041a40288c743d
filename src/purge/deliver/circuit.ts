/** How a reverse proxy has answered lately. Times in milliseconds since the epoch. */
export interface Circuit {
  /** Attempts in a row that failed; 0: closed. */
  failures: number
  /** When the first of them was. */
  failingSince: number | null
  /** Nothing is sent before; after it one request is, and what becomes of it decides. */
  openUntil: number | null
}

export const closed: Circuit = { failures: 0, failingSince: null, openUntil: null }

/** Between two tries at a proxy that does not answer, in milliseconds: at first, and at most. */
const shortest = 500
const longest = 60_000

/** After a failed attempt. `random` in [0, 1) spreads the tries, so that many do not come at once. */
export function afterFailure(circuit: Circuit, now: number, random: number): Circuit {
  const pause = Math.min(longest, shortest * 2 ** Math.min(circuit.failures, 20))
  return {
    failures: circuit.failures + 1,
    failingSince: circuit.failingSince ?? now,
    openUntil: now + Math.round(pause * (0.75 + random / 2)),
  }
}

/** Milliseconds until something may be sent; 0: now. A time further away than any pause comes from a clock that was set back. */
export function waitFor({ openUntil }: Circuit, now: number): number {
  const wait = (openUntil ?? 0) - now
  return wait <= 0 || wait > longest * 2 ? 0 : wait
}

export type CircuitState = 'closed' | 'open' | 'half-open'

export function circuitState(circuit: Circuit, now: number): CircuitState {
  if (circuit.failures === 0) return 'closed'
  return waitFor(circuit, now) > 0 ? 'open' : 'half-open'
}
