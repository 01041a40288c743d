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
  /** Whether the visitor is still sending the body of the request. */
  readonly isReceiving?: boolean
  admitted(): void
  refused(error: OriginError): void
}

/**
 * How long a request counts while its body comes, and how long its response counts after the head, in milliseconds. What takes longer is
 * an upload, a download, an event stream or a slow visitor: the shop waits, has done its work, or never will, and other visitors must not
 * wait for that.
 */
const longest = 5000

/** The requests of visitors and warmups to one origin (docs/decisions/0073-origin-limits.md). */
export class Slots {
  readonly #limits: SlotLimits
  readonly #waiting: Expiring<Slot>
  readonly #patient = new Set<Slot>()
  readonly #receiving = new Expiring<Slot>(longest, (slot) => this.#stepOut(slot))
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
    if (this.#hasRoom) this.#admit(slot)
    else this.#queue(slot)
    return slot
  }

  get #hasRoom(): boolean {
    return this.#visitors < this.#limits.maxConcurrent
  }

  #queue(slot: Slot): void {
    slot.state = 'waiting'
    if (this.#waiting.size < this.#limits.queue) this.#waiting.add(slot)
    else process.nextTick(() => this.#refuse(slot))
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
    this.#receiving.delete(slot)
    this.#answering.add(slot)
  }

  /** Whether the shop may get the end of the request's body now, and so begin its work. Otherwise the guest is admitted again, or refused. */
  received(slot: Slot): boolean {
    this.#receiving.delete(slot)
    if (slot.state === 'outside') {
      if (this.#hasRoom) this.#count(slot)
      else this.#queue(slot)
    }
    return slot.state !== 'waiting'
  }

  #stepOut(slot: Slot): void {
    slot.state = 'outside'
    this.#visitors -= 1
    this.#next()
  }

  left(slot: Slot, was: Slot['state']): void {
    if (was === 'waiting') {
      this.#waiting.delete(slot)
      this.#patient.delete(slot)
      return
    }
    if (was === 'outside') return
    this.#receiving.delete(slot)
    this.#answering.delete(slot)
    if (slot.last) this.#others -= 1
    else this.#visitors -= 1
    this.#next()
  }

  close(): void {
    this.#waiting.close()
    this.#receiving.close()
    this.#answering.close()
    this.#patient.clear()
  }

  #next(): void {
    const { maxConcurrent } = this.#limits
    for (let slot = this.#waiting.first(); slot !== undefined && this.#hasRoom;) {
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
    this.#count(slot)
    if (slot.guest.isReceiving === true) this.#receiving.add(slot)
    slot.guest.admitted()
  }

  #count(slot: Slot): void {
    if (slot.last) this.#others += 1
    else this.#visitors += 1
    slot.state = 'inside'
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
  /** `outside`: its body has been coming for long, so that it does not count. */
  state: 'waiting' | 'inside' | 'outside' | 'left' = 'waiting'
  readonly #slots: Slots

  constructor(slots: Slots, guest: Guest, last: boolean) {
    this.#slots = slots
    this.guest = guest
    this.last = last
  }

  answering(): void {
    if (this.state === 'inside') this.#slots.answering(this)
  }

  received(): boolean {
    return this.#slots.received(this)
  }

  /** Makes room for another request, or stops waiting. Safe to call twice. */
  leave(): void {
    const was = this.state
    if (was === 'left') return
    this.state = 'left'
    this.#slots.left(this, was)
  }
}
