import {
  afterAnswer,
  afterProbe,
  concurrencyOf,
  startInterval,
  startPace,
  type Pace,
  type PaceRules,
  type PaceSample,
} from './pace.ts'
import type { Timing } from '../../lib/timing.ts'

/** Timers fire a few milliseconds late. For intervals shorter than this, up to this much delay is made up for (milliseconds). */
const maxCatchUp = 100

/** Decides when the next request to an origin may start. */
export class Pacer {
  #rules: PaceRules
  readonly #timing: Timing
  readonly #interval: number
  #pace: Pace
  #inFlight = 0
  #nextStart = -Infinity
  /** Called when more requests may start than before. */
  onRaised: () => void = () => {}

  /** @param saved the pace that a previous process left; `notBefore` is monotonic */
  constructor(rules: PaceRules, timing: Timing, saved: { limit: number; notBefore: number } | null = null) {
    this.#rules = rules
    this.#timing = timing
    this.#interval = startInterval(rules)
    this.#pace = startPace(saved)
  }

  get pace(): Readonly<Pace> {
    return this.#pace
  }

  /** Most concurrent requests to an origin that is not throttled. */
  get concurrency(): number {
    return this.#rules.concurrency
  }

  /** Changes the concurrency. Requests in flight are finished; a throttled origin stays throttled. */
  set concurrency(concurrency: number) {
    const before = this.limit
    this.#rules = { ...this.#rules, concurrency }
    if (this.limit > before) this.onRaised()
  }

  /** Concurrent requests that may be made now. */
  get limit(): number {
    return concurrencyOf(this.#pace, this.#rules)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Milliseconds between the starts of two requests. */
  get interval(): number {
    return this.#interval
  }

  /** When the next request may start, in monotonic milliseconds. */
  get notBefore(): number {
    return Math.max(this.#pace.notBefore, this.#nextStart)
  }

  /** Whether a page that was well before should be requested, although the origin is paused: see `Pace.isInDoubt`. */
  get isInDoubt(): boolean {
    return this.#pace.isInDoubt
  }

  /**
   * Milliseconds until a request may start; null while the limit of requests in flight is reached.
   *
   * @param probes whether it is the one that `isInDoubt` is about
   */
  delay(probes = false): number | null {
    if (this.#inFlight >= this.limit) return null
    return Math.max(0, this.#earliest(probes) - this.#timing.now())
  }

  #earliest(probes: boolean): number {
    return probes ? this.#nextStart : this.notBefore
  }

  /** Records that a URL was taken up. It may turn out to need no request. */
  start(): void {
    this.#inFlight++
  }

  /** Whether a URL that was taken up may be requested now: the pace may have changed while it waited for visitors. Called just before the request. */
  mayStart(probes = false): boolean {
    const now = this.#timing.now()
    if (this.#inFlight > this.limit || now < this.#earliest(probes)) return false
    const earliest = this.#interval < maxCatchUp ? now - maxCatchUp : now
    this.#nextStart = Math.max(earliest, this.#nextStart) + this.#interval
    return true
  }

  /** Records that work on a URL has ended. @param sample null if its result says nothing about the load of the origin */
  end(sample: PaceSample | null): void {
    this.#inFlight--
    if (sample) this.#pace = afterAnswer(this.#pace, sample, this.#timing.now(), this.#rules)
  }

  /** Records that the request that `isInDoubt` is about has ended, or was not sent. */
  endProbe(sample: PaceSample | null): void {
    this.#inFlight--
    this.#pace = afterProbe(this.#pace, sample, this.#timing.now(), this.#rules)
  }
}
