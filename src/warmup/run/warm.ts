import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  evaluateAttempt,
  noAttempts,
  toPaceSample,
  type Attempts,
  type RetryRules,
  type UrlFailure,
  type Verdict,
} from './attempt.ts'
import type { Pacer } from './pacer.ts'
import type { Timing } from '../../lib/timing.ts'
import type { FetchPage, WarmResult } from './warm-result.ts'

/** The outcome of one URL over all its variants. `skipped`: every variant was fresh. */
export type UrlOutcome = { kind: 'processed'; skipped: boolean } | { kind: 'failed'; failures: UrlFailure[] }

export interface WarmOptions<Task extends { url: string }> {
  /** The next URL of this origin; null if none is left. Never called concurrently. */
  next(): Promise<Task | null>
  onDone(task: Task, outcome: UrlOutcome): void
  fetchPage: FetchPage
  /** Request headers of each pass (`toPasses`); at least one. */
  passes: readonly Readonly<Record<string, string>>[]
  force: boolean
  rules: RetryRules
  pacer: Pacer
  /** Called before each request: a promise to wait for first, or null. */
  gate(): Promise<void> | null
  observer: RequestObserver
  /** Aborted: no request is started, and those in flight are finished. */
  stop: AbortSignal
  /** Aborted: requests in flight are aborted too. */
  abort: AbortSignal
  timing: Timing
  random(): number
}

/** Observes every request. */
export interface RequestObserver {
  /**
   * Called when a request starts.
   *
   * @param attempt from 1
   * @returns called when it ends; `result` is null if it was aborted or not sent, `final` false if it will be retried
   */
  began(url: string, attempt: number): (result: WarmResult | null, final: boolean) => void
}

/** A URL in progress. */
interface PendingUrl<Task> {
  task: Task
  pass: number
  /** Earlier attempts in this pass. */
  attempts: Attempts
  fetched: boolean
  failures: UrlFailure[]
  /** Earliest monotonic time of the next attempt. */
  due: number
}

/** A page that was fetched or found fresh, with the request headers of its pass. */
interface GoodPage {
  url: string
  headers: Readonly<Record<string, string>>
}

/** How long pages are begun without a rest, and how long that is, in milliseconds. */
const busyFor = 0.25
const rest = 1

/** URLs per concurrent request that may wait for a retry; beyond that, no new URLs are taken. */
const maxWaitingPerSlot = 32

/**
 * Warms the URLs of one origin, each once per pass. While a URL waits for a retry, others use its slot. Ends when no URL is left, or
 * soon after `stop`: unfinished URLs then have no outcome and remain to be warmed.
 */
export async function warm<Task extends { url: string }>(options: WarmOptions<Task>): Promise<void> {
  await new Warmer(options).run()
}

class Warmer<Task extends { url: string }> {
  readonly #options: WarmOptions<Task>
  /** Due for a retry or for their next pass. */
  readonly #waiting: PendingUrl<Task>[] = []
  readonly #inFlight = new Set<Promise<void>>()
  /** The page that was last fetched or found fresh. */
  #good: GoodPage | null = null
  #exhausted = false
  #restsAt = 0
  #failure: { error: unknown } | null = null
  #woken = Promise.withResolvers<void>()

  constructor(options: WarmOptions<Task>) {
    this.#options = options
  }

  async run(): Promise<void> {
    const { stop, timing, pacer, gate } = this.#options
    stop.addEventListener('abort', this.#wake)
    pacer.onRaised = this.#wake
    while (!stop.aborted && !this.#failure) {
      const good = pacer.isInDoubt ? this.#good : null
      const delay = pacer.delay(good !== null)
      const closed = delay === 0 ? gate() : null
      if (closed) {
        await Promise.race([closed, this.#woken.promise])
      } else if (delay === null) {
        await this.#woken.promise
      } else if (delay > 0) {
        await timing.sleep(delay, stop)
      } else if (good !== null) {
        await this.#probe(good).catch((error: unknown) => this.#fail(error))
      } else {
        const work = await this.#take().catch((error: unknown) => this.#fail(error))
        if (work) {
          await this.#begin(work)
          await this.#letOthers()
        } else if (this.#waiting.length + this.#inFlight.size === 0) break
        else await this.#change()
      }
    }
    await Promise.all(this.#inFlight)
    stop.removeEventListener('abort', this.#wake)
    if (this.#failure) throw this.#failure.error
  }

  /**
   * Lets visitors' requests go between two pages. Turns of their own are not enough: a thread that has been busy for half a millisecond may lose
   * its core to another one for up to four (docs/decisions/0174-rests-of-a-warmup.md).
   */
  async #letOthers(): Promise<void> {
    const { timing, stop } = this.#options
    if (timing.now() < this.#restsAt) return nextTurn()
    await timing.sleep(rest, stop)
    this.#restsAt = timing.now() + busyFor
  }

  /** The next URL to request, those due for a retry first; null if none can start now. */
  async #take(): Promise<PendingUrl<Task> | null> {
    const { pacer, next, timing } = this.#options
    const now = timing.now()
    const due = this.#waiting.findIndex((work) => work.due <= now)
    if (due >= 0) return this.#waiting.splice(due, 1)[0]!
    if (this.#exhausted || this.#waiting.length >= maxWaitingPerSlot * pacer.concurrency) return null
    const task = await next()
    this.#exhausted = task === null
    return task && { task, pass: 0, attempts: noAttempts, fetched: false, failures: [], due: 0 }
  }

  /**
   * Starts an attempt. Resolves when its request is sent or needless, so that only one URL at a time waits for visitors: the pacer decides
   * about the others when they can be sent.
   */
  #begin(work: PendingUrl<Task>): Promise<void> {
    const { pacer } = this.#options
    const begun = Promise.withResolvers<void>()
    const mayStart = () => {
      const may = pacer.mayStart()
      if (may) begun.resolve()
      return may
    }
    pacer.start()
    const running = this.#attempt(work, mayStart)
      .then((more) => void (more && this.#waiting.push(more)))
      .catch((error: unknown) => void this.#fail(error))
      .finally(() => {
        this.#inFlight.delete(running)
        begun.resolve()
        this.#wake()
      })
    this.#inFlight.add(running)
    return begun.promise
  }

  /** Requests a page that was well before, to find out whether the origin fails or only some of its pages do. */
  async #probe({ url, headers }: GoodPage): Promise<void> {
    const { fetchPage, stop, abort, pacer } = this.#options
    let result: WarmResult | null = null
    pacer.start()
    try {
      const mayStart = () => pacer.mayStart(true)
      result = await fetchPage(url, { headers, force: true, signal: abort, stop, mayStart })
    } finally {
      pacer.endProbe(result && toPaceSample(result, noAttempts))
    }
  }

  /** Makes one request, if `mayStart` allows it. Returns the URL if it needs another attempt or pass, else null. */
  async #attempt(work: PendingUrl<Task>, mayStart: () => boolean): Promise<PendingUrl<Task> | null> {
    const { passes, rules, timing, stop, abort, force, fetchPage, random, onDone, pacer, observer } = this.#options
    let result: WarmResult | null = null
    let verdict: Verdict | null = null
    const ended = observer.began(work.task.url, numberOf(work.attempts))
    try {
      result = await fetchPage(work.task.url, { headers: passes[work.pass]!, force, signal: abort, stop, mayStart })
      // Aborted by us, which is not a failure of the page.
      if (abort.aborted && result?.kind === 'failed') result = null
      else if (result) verdict = evaluateAttempt(result, work.attempts, rules, random())
    } finally {
      pacer.end(result && toPaceSample(result, work.attempts))
      ended(result, verdict !== null && verdict.kind !== 'retry')
    }
    if (verdict === null) return abort.aborted ? null : work
    if (verdict.kind === 'warm') this.#good = { url: work.task.url, headers: passes[work.pass]! }
    if (verdict.kind === 'retry') return { ...work, attempts: verdict.attempts, due: timing.now() + verdict.after }
    const done = withVerdict(work, verdict)
    if (done.pass < passes.length) return done
    onDone(
      done.task,
      done.failures.length > 0
        ? { kind: 'failed', failures: done.failures }
        : { kind: 'processed', skipped: !done.fetched },
    )
    return null
  }

  /** Resolves when a request has ended, a retry is due, or `stop` was aborted. */
  async #change(): Promise<void> {
    const over = new AbortController()
    const changes = [this.#woken.promise]
    if (this.#waiting.length > 0) {
      const soonest = Math.min(...this.#waiting.map((work) => work.due)) - this.#options.timing.now()
      changes.push(this.#options.timing.sleep(Math.max(0, soonest), over.signal))
    }
    await Promise.race(changes)
    over.abort()
  }

  readonly #wake = (): void => {
    this.#woken.resolve()
    this.#woken = Promise.withResolvers()
  }

  #fail(error: unknown): null {
    this.#failure ??= { error }
    return null
  }
}

/** Number of the attempt after earlier ones, from 1. */
function numberOf({ failed, purged }: Attempts): number {
  return failed + purged + 1
}

function withVerdict<Task>(work: PendingUrl<Task>, verdict: Exclude<Verdict, { kind: 'retry' }>): PendingUrl<Task> {
  const { pass, attempts, fetched, failures } = work
  const next = { ...work, pass: pass + 1, attempts: noAttempts, due: 0 }
  if (verdict.kind === 'warm') return { ...next, fetched: fetched || verdict.fetched }
  return {
    ...next,
    failures: [
      ...failures,
      { variant: pass, status: verdict.status, error: verdict.error, attempts: numberOf(attempts) },
    ],
  }
}
