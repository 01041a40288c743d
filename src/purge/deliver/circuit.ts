/** The circuit breaker of a reverse proxy. Times in milliseconds since the epoch. */
export interface Circuit {
  /** Consecutive failed attempts; 0: closed. */
  failures: number
  /** When the first of them failed. */
  failingSince: number | null
  /** No request is sent before this time; the first request after it decides whether the circuit closes. */
  openUntil: number | null
}

export const closed: Circuit = { failures: 0, failingSince: null, openUntil: null }

/** The first and the longest delay between two attempts at a proxy that does not answer, in milliseconds. */
const shortestDelay = 500
const longestDelay = 60_000

/** The circuit after a failed attempt. `random` in [0, 1) spreads the retries of several proxies. */
export function afterFailure(circuit: Circuit, now: number, random: number): Circuit {
  const delay = Math.min(longestDelay, shortestDelay * 2 ** Math.min(circuit.failures, 20))
  return {
    failures: circuit.failures + 1,
    failingSince: circuit.failingSince ?? now,
    openUntil: now + Math.round(delay * (0.75 + random / 2)),
  }
}

/** Milliseconds until the next request may be sent; 0: now. A wait longer than any delay means that the clock was set back. */
export function waitFor({ openUntil }: Circuit, now: number): number {
  const wait = (openUntil ?? 0) - now
  return wait <= 0 || wait > longestDelay * 2 ? 0 : wait
}

export type CircuitState = 'closed' | 'open' | 'half-open'

export function circuitState(circuit: Circuit, now: number): CircuitState {
  if (circuit.failures === 0) return 'closed'
  return waitFor(circuit, now) > 0 ? 'open' : 'half-open'
}
