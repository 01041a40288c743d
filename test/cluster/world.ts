import type { Clocks } from '../../src/cluster/lease.ts'
import { random } from '../helpers/random.ts'

interface Event {
  at: number
  order: number
  run(): void
}

/** Virtual time. Everything that happens is an event; the same seed gives the same events. */
export class World {
  now = 0
  readonly next: () => number
  readonly #events: Event[] = []
  #order = 0

  constructor(seed: number) {
    this.next = random(seed)
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  after(ms: number, run: () => void): void {
    const event = { at: this.now + Math.max(0, ms), order: (this.#order += 1), run }
    let at = this.#events.push(event) - 1
    for (; at > 0; at = (at - 1) >> 1) {
      const parent = this.#events[(at - 1) >> 1]!
      if (!isBefore(event, parent)) break
      this.#events[at] = parent
    }
    this.#events[at] = event
  }

  /** Lets time pass until then. All code that an event wakes runs before the next event. */
  async runUntil(end: number): Promise<void> {
    while (this.#events.length > 0 && this.#events[0]!.at <= end) {
      const event = this.#pop()
      this.now = event.at
      event.run()
      await new Promise((resolve) => setImmediate(resolve))
    }
    this.now = end
  }

  #pop(): Event {
    const [first] = this.#events
    const last = this.#events.pop()!
    const { length } = this.#events
    for (let at = 0; length > 0;) {
      let child = 2 * at + 1
      if (child + 1 < length && isBefore(this.#events[child + 1]!, this.#events[child]!)) child += 1
      if (child >= length || !isBefore(this.#events[child]!, last)) {
        this.#events[at] = last
        break
      }
      this.#events[at] = this.#events[child]!
      at = child
    }
    return first!
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}

/** A process on a machine of its own. It can be killed, frozen and cut off; its clocks are wrong in every allowed way. */
export class Proc {
  isAlive = true
  /** Whether messages to and from the database get lost. */
  isCut = false
  readonly world: World
  /** How slow its network is, as a share of the longest delay. */
  readonly latency: number
  readonly #rate: number
  readonly #offset: number
  #wallOffset: number
  #frozenSince: number | null = null
  #isAsleep = false
  /** Time during which the monotonic clock stood still. */
  #slept = 0
  #held: { urgent: boolean; run(): void }[] = []
  #wake = () => {}

  constructor(world: World, drift: number) {
    this.world = world
    this.latency = world.chance(0.5) ? 1 : 0.05
    this.#rate = world.chance(0.5) ? world.between(1 - drift, 1 + drift) : 1 + (world.chance(0.5) ? drift : -drift)
    this.#offset = world.between(0, 1e6)
    this.#wallOffset = world.between(-5000, 5000)
  }

  /** Runs something in the process, or when it continues. Urgent: before everything else that is waiting. */
  deliver(run: () => void, urgent = false): void {
    if (!this.isAlive) return
    if (this.#frozenSince === null) run()
    else this.#held.push({ urgent, run })
  }

  readonly clocks = (): Clocks => ({
    mono: this.#offset + (this.world.now - this.#slept) * this.#rate,
    wall: this.world.now + this.#wallOffset,
  })

  readonly sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => this.world.after(ms / this.#rate, () => this.deliver(resolve)))

  /** Sleeps until there may be something new. */
  readonly wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      this.#wake = resolve
      this.world.after(ms / this.#rate, () => this.deliver(resolve))
    })

  wake(): void {
    this.deliver(() => this.#wake())
  }

  /** Sets the clock. That of a sleeping machine cannot be set: it would hide that the machine slept. */
  setWallClock(by: number): void {
    if (this.#frozenSince !== null && this.#isAsleep) return
    this.#wallOffset += by
  }

  /** Stops the process. With its machine asleep the monotonic clock stands still too. */
  freeze(isAsleep: boolean): void {
    if (this.#frozenSince !== null) return
    this.#frozenSince = this.world.now
    this.#isAsleep = isAsleep
  }

  thaw(): void {
    if (this.#frozenSince === null) return
    if (this.#isAsleep) this.#slept += this.world.now - this.#frozenSince
    this.#frozenSince = null
    const held = this.#held
    this.#held = []
    for (const { run } of held.toSorted((a, b) => Number(b.urgent) - Number(a.urgent))) this.deliver(run)
  }
}
