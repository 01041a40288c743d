import { PagecacheError } from '../errors.ts'
import { SteadySet } from '../lib/steady-map.ts'
import { Arrivals } from './arrivals.ts'
import {
  carryOut,
  recordIntents,
  recordTogether,
  removeTogether,
  removeUnrecorded,
  type CarriedOut,
} from './invalidate.ts'
import {
  isSmall,
  maxKeysPerTransaction,
  type Intent,
  type Plan,
  type PurgingOptions,
  type RemovedTogether,
} from './intent.ts'
import { release } from './release.ts'
import { tracesOf } from './remove-locally.ts'

/** Most keys of one group. The first waits for the last: about ten milliseconds. */
const maxKeysPerGroup = 4 * maxKeysPerTransaction
/** Most traces whose removed pages wait for deletion. */
const maxUnreleased = 500
/** Most wide invalidations at a time. Each is carried out in slices, and groups run between the slices. */
const maxWide = 4
/** An invalidation that has waited for a slow disk, a lock or wide ones before it for longer than this is refused (milliseconds). */
const maxWait = 5_000

/** An invalidation that was carried out. */
export interface LaneResult extends CarriedOut {
  intent: Intent
}

interface Waiting {
  plan: Plan
  since: number
  resolve(result: LaneResult): void
  reject(error: unknown): void
}

/** Reports which intents start here, and how they end. */
export interface LaneEvents {
  onStarted(ids: readonly number[]): void
  /** `failed`: the intents are durable, but not carried out. */
  onEnded(ids: readonly number[], failed: boolean): void
  /** Registers work that must finish before the purges are closed. */
  track(work: Promise<void>): Promise<void>
}

/**
 * Two lanes for invalidations. Small ones that wait together share their transactions: while one group is written the next one gathers,
 * so groups grow on a slow disk. Wide ones (everything, a type, a pattern, many keys, a tag with many pages) run alone, in slices; equal
 * wide ones that wait together are carried out once (docs/decisions/0055-purges-in-groups.md).
 */
export class PurgeLanes {
  readonly #options: PurgingOptions
  readonly #events: LaneEvents
  readonly #small: Waiting[] = []
  readonly #arrivals = new Arrivals()
  readonly #wide = new Map<string, Waiting[]>()
  /** Traces of recorded invalidations. */
  readonly #unreleased: number[] = []
  #writing = false
  #wideRunning = 0
  #unique = 0
  /** When the intents that are being recorded were begun (milliseconds since the epoch). */
  readonly #recording = new SteadySet<{ at: number }>()

  constructor(options: PurgingOptions, events: LaneEvents) {
    this.#options = options
    this.#events = events
  }

  /** Intents of this thread from before are all known to `LaneEvents`, or were recorded although that seemed to fail. */
  get recordingSince(): number {
    return Math.min(...[...this.#recording].map(({ at }) => at))
  }

  /** @throws INVALID_INPUT, STORE_BUSY, STORE_FULL */
  add(plan: Plan): Promise<LaneResult> {
    return new Promise((resolve, reject) => {
      const waiting = { plan, since: performance.now(), resolve, reject }
      if (isSmall(plan)) {
        this.#arrivals.arrived(this.#small.push(waiting))
        // Invalidations of one turn of the event loop form a group.
        setImmediate(() => void this.#events.track(this.#writeGroups()))
      } else {
        const key = this.#mergeKey(plan)
        this.#wide.set(key, [...(this.#wide.get(key) ?? []), waiting])
        setImmediate(() => this.#startWide())
        setTimeout(() => this.#refuseWide(key), maxWait).unref()
      }
    })
  }

  /** Refuses the wide invalidations that were not started in time. */
  #refuseWide(key: string): void {
    const rest = this.#inTime(this.#wide.get(key) ?? [])
    if (rest.length === 0) this.#wide.delete(key)
    else this.#wide.set(key, rest)
  }

  /** Refuses those that have waited for too long. Returns the others. */
  #inTime(group: readonly Waiting[]): Waiting[] {
    const latest = performance.now() - maxWait
    return group.filter(({ since, reject }) => {
      if (since <= latest) reject(new PagecacheError('STORE_BUSY', 'Too many purges are waiting to be written'))
      return since > latest
    })
  }

  /** Equal for invalidations that one removal serves. */
  #mergeKey({ keys, invalidation: { wholeDirectory = false } }: Plan): string {
    return keys.length === 1 ? JSON.stringify([keys, wholeDirectory]) : String((this.#unique += 1))
  }

  /** Lets work that is under way finish without waiting for more. */
  hurry(): void {
    this.#arrivals.end()
  }

  async #writeGroups(): Promise<void> {
    if (this.#writing) return
    this.#writing = true
    try {
      while (this.#small.length + this.#unreleased.length > 0) {
        // The pages of many groups are released together.
        if (this.#small.length === 0 && this.#unreleased.length < maxUnreleased) await this.#arrivals.next()
        if (this.#small.length > 0) await this.#arrivals.gathered(this.#small.length)
        if (this.#small.length === 0 || this.#unreleased.length >= maxUnreleased) await this.#release()
        if (this.#small.length > 0) await this.#writeGroup()
      }
    } finally {
      this.#writing = false
    }
  }

  async #writeGroup(): Promise<void> {
    const started = performance.now()
    const group = this.#nextGroup()
    await this.#start(group, (intents, same) => this.#carryOutGroup(intents, same))
    this.#arrivals.answered(group.length + this.#small.length, performance.now() - started)
  }

  #nextGroup(): Waiting[] {
    let keys = 0
    const over = this.#small.findIndex(({ plan }) => (keys += plan.keys.length) > maxKeysPerGroup)
    return this.#inTime(this.#small.splice(0, over < 0 ? this.#small.length : Math.max(1, over)))
  }

  /** Records invalidations durably, then runs `work`. After an error other than a lock or an unreachable server each is retried alone, so that none fails because of another. */
  async #start(
    group: readonly Waiting[],
    work: (intents: readonly Intent[], group: readonly Waiting[]) => Promise<void>,
  ): Promise<void> {
    if (group.length === 0) return
    const intents = await this.#record(group)
    if (typeof intents !== 'string') return work(intents, group)
    if (intents === 'each') for (const waiting of group) await this.#start([waiting], work)
  }

  /** The intents of a group; `each`: to be recorded one by one; `rejected`: none is known to be recorded. */
  async #record(group: readonly Waiting[]): Promise<Intent[] | 'each' | 'rejected'> {
    const recording = { at: this.#options.now() }
    this.#recording.add(recording)
    try {
      const plans = group.map(({ plan }) => plan)
      const intents = await recordIntents(this.#options, plans)
      this.#events.onStarted(intents.map(({ id }) => id))
      return intents
    } catch (error) {
      if (group.length > 1 && !isBusy(error)) return 'each'
      for (const { plan, reject } of group)
        reject(await removeUnrecorded(this.#options, plan, error).catch((failure: unknown) => failure))
      return 'rejected'
    } finally {
      this.#recording.delete(recording)
    }
  }

  async #carryOutGroup(intents: readonly Intent[], group: readonly Waiting[]): Promise<void> {
    const waitingOf = new Map(intents.map((intent, index) => [intent, group[index]!]))
    let removed: (RemovedTogether | null)[]
    try {
      removed = await removeTogether(this.#options, intents)
    } catch (error) {
      // Alone, each one can free space on a full disk.
      if (isBusy(error)) this.#fail(intents, group, error)
      else
        for (const [index, intent] of intents.entries())
          await this.#carryOutAlone({ ...intent, again: true }, group[index]!)
      return
    }
    for (const [index, done] of removed.entries()) {
      if (done === null) this.#addRest({ ...intents[index]!, again: true }, group[index]!)
    }
    const done = removed.filter((each) => each !== null)
    if (done.length > 0)
      await this.#recordGroup(
        done,
        done.map(({ intent }) => waitingOf.get(intent)!),
      )
  }

  async #recordGroup(done: readonly RemovedTogether[], group: readonly Waiting[]): Promise<void> {
    const intents = done.map(({ intent }) => intent)
    let carried: CarriedOut[]
    try {
      carried = await recordTogether(this.#options, done)
    } catch (error) {
      if (done.length === 1 || isBusy(error)) return this.#fail(intents, group, error)
      for (const [index, each] of done.entries()) await this.#recordGroup([each], [group[index]!])
      return
    }
    this.#succeed(intents, group, carried)
    for (const { intent, urls } of done)
      if (urls.some(({ length }) => length > 0)) this.#unreleased.push(...tracesOf(intent))
  }

  /** Releases the pages of recorded groups, so that they can be deleted. */
  async #release(): Promise<void> {
    await release(this.#options.pages, this.#unreleased.splice(0))
  }

  /** Carries out the rest of an invalidation that selects more pages than fit in a group. */
  #addRest(intent: Intent, waiting: Waiting): void {
    this.#wideRunning += 1
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
      if (this.#wideRunning >= maxWide) return
      this.#wide.delete(name)
      this.#wideRunning += 1
      void this.#events
        .track(this.#start(group, (intents, started) => this.#carryOutEqual(intents, started)))
        .then(() => this.#endWide())
    }
  }

  #endWide(): void {
    this.#wideRunning -= 1
    this.#startWide()
  }

  /** Carries out equal invalidations: the first removes the pages, the others find none, as if they had come a moment later. */
  async #carryOutEqual([first, ...others]: readonly Intent[], [waiting, ...same]: readonly Waiting[]): Promise<void> {
    try {
      this.#succeed([first!], [waiting!], [await carryOut(this.#options, first!)])
    } catch (error) {
      return this.#fail([first!, ...others], [waiting!, ...same], error)
    }
    if (others.length > 0)
      await this.#recordGroup(
        others.map((intent) => ({ intent, counts: intent.keys.map(() => 0), urls: [], localTime: 0 })),
        same,
      )
  }

  #succeed(intents: readonly Intent[], group: readonly Waiting[], carried: readonly CarriedOut[]): void {
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
  return error instanceof PagecacheError && (error.code === 'STORE_BUSY' || error.code === 'STORE_UNREACHABLE')
}
