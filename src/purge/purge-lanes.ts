import { PagecacheError } from '../errors.ts'
import {
  carryOut,
  intend,
  recordTogether,
  releaseAll,
  takeTogether,
  takeUnrecorded,
  type Carried,
} from './invalidate.ts'
import { isSmall, keysAtOnce, type Done, type Intent, type Plan, type PurgingOptions } from './intent.ts'

/** Keys of one group: so long, some ten milliseconds, the first of a group waits for its last. */
const keysOfGroup = 4 * keysAtOnce
/** Invalidations that are carried out one by one, at a time: each goes in slices, between which the groups have their turn. */
const wideAtOnce = 4
/** What has waited longer than this in milliseconds, behind a disk or a lock, is refused: nobody waits for many times the patience of one transaction. */
const patience = 5_000

/** An invalidation that was carried out. */
export interface Outcome extends Carried {
  intent: Intent
}

interface Waiting {
  plan: Plan
  since: number
  resolve(outcome: Outcome): void
  reject(error: unknown): void
}

/** Told which intents are begun here, and how they end. */
export interface LaneEvents {
  onBegun(ids: readonly number[]): void
  /** `failed`: their intents are durable, and still to be carried out. */
  onEnded(ids: readonly number[], failed: boolean): void
  /** Waits for the work when it is closed. */
  track(work: Promise<void>): Promise<void>
}

/**
 * Two lanes for invalidations. Small ones that wait together share their transactions: while one group is written the next gathers, so
 * that the slower the disk, the larger the groups. What is wide (everything, a type, a pattern, many keys, a tag with many pages) goes by
 * itself and in slices; the same wide one asked for several times is carried out once (docs/decisions/0055-purges-in-groups.md).
 */
export class PurgeLanes {
  readonly #options: PurgingOptions
  readonly #events: LaneEvents
  readonly #small: Waiting[] = []
  readonly #wide = new Map<string, Waiting[]>()
  #writing = false
  #wideInHand = 0
  #unique = 0

  constructor(options: PurgingOptions, events: LaneEvents) {
    this.#options = options
    this.#events = events
  }

  /** @throws INVALID_INPUT, STORE_BUSY, STORE_FULL */
  add(plan: Plan): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const waiting = { plan, since: performance.now(), resolve, reject }
      if (isSmall(plan)) {
        this.#small.push(waiting)
        // What comes in the same turn of the event loop goes together.
        setImmediate(() => void this.#events.track(this.#writeGroups()))
      } else {
        const name = this.#nameOf(plan)
        this.#wide.set(name, [...(this.#wide.get(name) ?? []), waiting])
        setImmediate(() => this.#startWide())
      }
    })
  }

  /** The same for invalidations that one removal serves. */
  #nameOf({ keys, invalidation: { wholeDirectory = false } }: Plan): string {
    return keys.length === 1 ? JSON.stringify([keys, wholeDirectory]) : String((this.#unique += 1))
  }

  async #writeGroups(): Promise<void> {
    if (this.#writing) return
    this.#writing = true
    try {
      while (this.#small.length > 0)
        await this.#begin(this.#nextGroup(), (intents, group) => this.#carryOutGroup(intents, group))
    } finally {
      this.#writing = false
    }
  }

  #nextGroup(): Waiting[] {
    let keys = 0
    const over = this.#small.findIndex(({ plan }) => (keys += plan.keys.length) > keysOfGroup)
    const group = this.#small.splice(0, over < 0 ? this.#small.length : Math.max(1, over))
    const latest = performance.now() - patience
    const late = group.filter(({ since }) => since < latest)
    for (const { reject } of late)
      reject(new PagecacheError('STORE_BUSY', 'Purges come faster than they can be written'))
    return late.length === 0 ? group : group.filter((waiting) => !late.includes(waiting))
  }

  /** Makes invalidations durable and hands them on. What fails for another reason than a lock is tried one by one: none fails for its neighbour. */
  async #begin(
    group: readonly Waiting[],
    work: (intents: readonly Intent[], group: readonly Waiting[]) => Promise<void>,
  ): Promise<void> {
    if (group.length === 0) return
    let intents: Intent[]
    try {
      intents = await intend(
        this.#options,
        group.map(({ plan }) => plan),
      )
    } catch (error) {
      if (group.length > 1 && !isBusy(error)) {
        for (const waiting of group) await this.#begin([waiting], work)
        return
      }
      for (const { plan, reject } of group)
        reject(await takeUnrecorded(this.#options, plan, error).catch((failure: unknown) => failure))
      return
    }
    this.#events.onBegun(intents.map(({ id }) => id))
    await work(intents, group)
  }

  async #carryOutGroup(intents: readonly Intent[], group: readonly Waiting[]): Promise<void> {
    const waitingOf = new Map(intents.map((intent, index) => [intent, group[index]!]))
    let taken: (Done | null)[]
    try {
      taken = await takeTogether(this.#options, intents)
    } catch (error) {
      // One by one each makes room for itself on a full disk.
      if (isBusy(error)) this.#fail(intents, group, error)
      else
        for (const [index, intent] of intents.entries())
          await this.#carryOutAlone({ ...intent, again: true }, group[index]!)
      return
    }
    for (const [index, done] of taken.entries()) {
      if (done === null) this.#addRest({ ...intents[index]!, again: true }, group[index]!)
    }
    const done = taken.filter((each) => each !== null)
    if (done.length > 0)
      await this.#recordGroup(
        done,
        done.map(({ intent }) => waitingOf.get(intent)!),
      )
  }

  async #recordGroup(done: readonly Done[], group: readonly Waiting[]): Promise<void> {
    const intents = done.map(({ intent }) => intent)
    let carried: Carried[]
    try {
      carried = await recordTogether(this.#options, done)
    } catch (error) {
      if (done.length === 1 || isBusy(error)) return this.#fail(intents, group, error)
      for (const [index, each] of done.entries()) await this.#recordGroup([each], [group[index]!])
      return
    }
    this.#succeed(intents, group, carried)
    await releaseAll(
      this.#options.pages,
      intents.filter((_, index) => carried[index]!.pagesRemoved > 0 && !carried[index]!.tracing),
    )
  }

  /** The rest of an invalidation that selects more pages than a group takes of it. */
  #addRest(intent: Intent, waiting: Waiting): void {
    this.#wideInHand += 1
    void this.#events.track(this.#carryOutAlone(intent, waiting)).then(() => this.#endWide())
  }

  async #carryOutAlone(intent: Intent, waiting: Waiting): Promise<void> {
    try {
      this.#succeed([intent], [waiting], [await carryOut(this.#options, intent)])
    } catch (error) {
      this.#fail([intent], [waiting], error)
    }
  }

  #startWide(): void {
    for (const [name, group] of this.#wide) {
      if (this.#wideInHand >= wideAtOnce) return
      this.#wide.delete(name)
      this.#wideInHand += 1
      void this.#events
        .track(this.#begin(group, (intents, begun) => this.#carryOutSame(intents, begun)))
        .then(() => this.#endWide())
    }
  }

  #endWide(): void {
    this.#wideInHand -= 1
    this.#startWide()
  }

  /** The first of several that ask for the same takes all pages; nothing is left for the others, as if they had come a moment later. */
  async #carryOutSame([first, ...others]: readonly Intent[], [waiting, ...same]: readonly Waiting[]): Promise<void> {
    try {
      this.#succeed([first!], [waiting!], [await carryOut(this.#options, first!)])
    } catch (error) {
      return this.#fail([first!, ...others], [waiting!, ...same], error)
    }
    if (others.length > 0)
      await this.#recordGroup(
        others.map((intent) => ({ intent, counts: intent.keys.map(() => 0), localTime: 0 })),
        same,
      )
  }

  #succeed(intents: readonly Intent[], group: readonly Waiting[], carried: readonly Carried[]): void {
    this.#events.onEnded(
      intents.map(({ id }) => id),
      false,
    )
    for (const [index, { resolve }] of group.entries()) resolve({ intent: intents[index]!, ...carried[index]! })
  }

  #fail(intents: readonly Intent[], group: readonly Waiting[], error: unknown): void {
    this.#events.onEnded(
      intents.map(({ id }) => id),
      true,
    )
    for (const { reject } of group) reject(error)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof PagecacheError && error.code === 'STORE_BUSY'
}
