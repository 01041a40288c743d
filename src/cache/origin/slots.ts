import { Expiring } from './deadline.ts'
import { OriginError } from './error.ts'

/** How many requests one origin gets at a time. */
export interface SlotLimits {
  /** Requests of visitors at a time. */
  maxConcurrent: number
  /** Requests of visitors that wait for one of those to end. */
  queue: number
  /** How long they wait, in milliseconds. */
  queueTimeout: number
}

/** Requests of visitors. */
export interface SlotCounts {
  /** Those that the shop is working on. */
  active: number
  /** Those that wait for it. */
  waiting: number
  /** Those that were refused since the start, because the queue was full or too slow. */
  rejected: number
}

/** Who is admitted. Called in a later turn, unless there is room at once. */
export interface Guest {
  admitted(): void
  refused(error: OriginError): void
}

/**
 * How long a response counts after its head, in milliseconds. What takes longer is a download, an event stream or a slow
 * visitor: the shop has done its work, or never will, and other visitors must not wait for that.
 */
const longest = 5000

/** The requests of visitors and warmups to one origin (docs/decisions/0073-origin-limits.md). */
export class Slots {
  readonly #limits: SlotLimits
  readonly #waiting: Expiring<Slot>
  readonly #patient = new Set<Slot>()
  readonly #answering = new Expiring<Slot>(longest, (slot) => slot.leave())
  #visitors = 0
  #others = 0
  #rejected = 0

  constructor(limits: SlotLimits) {
    this.#limits = limits
    this.#waiting = new Expiring(limits.queueTimeout, (slot) => this.#refuse(slot))
  }

  get counts(): SlotCounts {
    return { active: this.#visitors, waiting: this.#waiting.size, rejected: this.#rejected }
  }

  /** Admits a visitor at once, when there is room, or refuses it. */
  enter(guest: Guest): Slot {
    const slot = new Slot(this, guest, false)
    if (this.#visitors < this.#limits.maxConcurrent) this.#admit(slot)
    else if (this.#waiting.size < this.#limits.queue) this.#waiting.add(slot)
    else process.nextTick(() => this.#refuse(slot))
    return slot
  }

  /** Admits a warmup once visitors leave room for it. Never refuses it. */
  enterLast(guest: Guest): Slot {
    const slot = new Slot(this, guest, true)
    this.#patient.add(slot)
    this.#next()
    return slot
  }

  /** Notes that the response has begun. */
  answering(slot: Slot): void {
    this.#answering.add(slot)
  }

  left(slot: Slot, was: Slot['state']): void {
    if (was === 'waiting') {
      this.#waiting.delete(slot)
      this.#patient.delete(slot)
      return
    }
    this.#answering.delete(slot)
    if (slot.last) this.#others -= 1
    else this.#visitors -= 1
    this.#next()
  }

  close(): void {
    this.#waiting.close()
    this.#answering.close()
    this.#patient.clear()
  }

  #next(): void {
    const { maxConcurrent } = this.#limits
    for (let slot = this.#waiting.first(); slot !== undefined && this.#visitors < maxConcurrent;) {
      this.#waiting.delete(slot)
      this.#admit(slot)
      slot = this.#waiting.first()
    }
    for (const slot of this.#patient) {
      if (this.#visitors + this.#others >= maxConcurrent) return
      this.#patient.delete(slot)
      this.#admit(slot)
    }
  }

  #admit(slot: Slot): void {
    if (slot.last) this.#others += 1
    else this.#visitors += 1
    slot.state = 'inside'
    slot.guest.admitted()
  }

  #refuse(slot: Slot): void {
    if (slot.state !== 'waiting') return
    slot.state = 'left'
    this.#rejected += 1
    slot.guest.refused(new OriginError('too many requests are waiting for the shop', 'overloaded'))
  }
}

/** The place of one request. */
export class Slot {
  readonly guest: Guest
  /** Whether it takes only what visitors leave. */
  readonly last: boolean
  state: 'waiting' | 'inside' | 'left' = 'waiting'
  readonly #slots: Slots

  constructor(slots: Slots, guest: Guest, last: boolean) {
    this.#slots = slots
    this.guest = guest
    this.last = last
  }

  answering(): void {
    if (this.state === 'inside') this.#slots.answering(this)
  }

  /** Makes room for another request, or stops waiting. Safe to call twice. */
  leave(): void {
    const was = this.state
    if (was === 'left') return
    this.state = 'left'
    this.#slots.left(this, was)
  }
}
