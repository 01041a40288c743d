import { afterAnswer, startInterval, startPace, type Pace, type PaceRules, type PaceSample } from './pace.ts'
import type { Timing } from '../../lib/timing.ts'

/** Timers are late by a few milliseconds: so much of a delay is made up for where requests follow faster than that. */
const catchUp = 100

/** Says when the next request to an origin may start. */
export class Pacer {
  readonly #rules: PaceRules
  readonly #timing: Timing
  readonly #interval: number
  #pace: Pace
  #underWay = 0
  #nextStart = -Infinity

  /** @param left how whoever asked the origin before left it; `notBefore` is monotonic */
  constructor(rules: PaceRules, timing: Timing, left: { limit: number; notBefore: number } | null = null) {
    this.#rules = rules
    this.#timing = timing
    this.#interval = startInterval(rules)
    this.#pace = startPace(rules, left)
  }

  get pace(): Readonly<Pace> {
    return this.#pace
  }

  get underWay(): number {
    return this.#underWay
  }

  /** Milliseconds between the starts of two requests. */
  get interval(): number {
    return this.#interval
  }

  /** When the next request may start, in monotonic milliseconds. */
  get notBefore(): number {
    return Math.max(this.#pace.notBefore, this.#nextStart)
  }

  /** Milliseconds until a request may start; null while all places are taken. Asking changes nothing. */
  delay(): number | null {
    if (this.#underWay >= Math.floor(this.#pace.limit)) return null
    return Math.max(0, Math.max(this.#pace.notBefore, this.#nextStart) - this.#timing.now())
  }

  start(): void {
    const now = this.#timing.now()
    const earliest = this.#interval < catchUp ? now - catchUp : now
    this.#nextStart = Math.max(earliest, this.#nextStart) + this.#interval
    this.#underWay++
  }

  /** A request has ended; null where its answer says nothing about the origin. */
  end(sample: PaceSample | null): void {
    this.#underWay--
    if (sample) this.#pace = afterAnswer(this.#pace, sample, this.#timing.now(), this.#rules)
  }
}
