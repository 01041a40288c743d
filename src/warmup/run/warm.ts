import { judgeAttempt, toPaceSample, type RetryRules, type UrlFailure, type Verdict } from './attempt.ts'
import type { Pacer } from './pacer.ts'
import type { Timing } from '../../lib/timing.ts'
import type { FetchPage, WarmResult } from './warm-result.ts'

/** What became of one URL, all its variants together. `skipped`: every one was found fresh. */
export type UrlOutcome = { kind: 'processed'; skipped: boolean } | { kind: 'failed'; failures: UrlFailure[] }

export interface WarmOptions<Task extends { url: string }> {
  /** The next URL of this origin; null when there is none left. Called one at a time. */
  next(): Promise<Task | null>
  onDone(task: Task, outcome: UrlOutcome): void
  fetchPage: FetchPage
  /** Request fields of each pass (`toPasses`); at least one. */
  passes: readonly Readonly<Record<string, string>>[]
  force: boolean
  rules: RetryRules & { concurrency: number }
  pacer: Pacer
  /** Asked before a request begins: what has to be waited for first, null for nothing. */
  gate(): Promise<void> | null
  observer: RequestObserver
  /** Aborted: nothing new is begun, and what is under way is finished. */
  stop: AbortSignal
  /** Aborted: what is under way is given up too. */
  abort: AbortSignal
  timing: Timing
  random(): number
}

/** Told of every request. */
export interface RequestObserver {
  /** @param attempt from 1 @returns told how it ended; `final`: it is not tried again */
  began(url: string, attempt: number): (result: WarmResult | null, final: boolean) => void
}

interface Work<Task> {
  task: Task
  pass: number
  attempt: number
  fetched: boolean
  failures: UrlFailure[]
  /** Not to be tried before this monotonic time. */
  due: number
}

/** So many URLs may wait for another attempt, for each place; with more, no new ones are taken up. */
const waitingPerPlace = 32

/**
 * Warms the URLs of one origin, each once for each pass. A URL that has to be tried again gives its place to
 * others meanwhile. Ends when there is no URL left, or soon after `stop`: a URL that was not done then had no
 * outcome and is still to be warmed.
 */
export async function warm<Task extends { url: string }>(options: WarmOptions<Task>): Promise<void> {
  await new Warmer(options).run()
}

class Warmer<Task extends { url: string }> {
  readonly #options: WarmOptions<Task>
  /** To be tried again. */
  readonly #waiting: Work<Task>[] = []
  readonly #underWay = new Set<Promise<void>>()
  #exhausted = false
  #fault: { error: unknown } | null = null
  #woken = Promise.withResolvers<void>()

  constructor(options: WarmOptions<Task>) {
    this.#options = options
  }

  async run(): Promise<void> {
    const { stop, timing, pacer, gate } = this.#options
    stop.addEventListener('abort', this.#wake)
    while (!stop.aborted && !this.#fault) {
      const delay = pacer.delay()
      const closed = delay === 0 ? gate() : null
      if (closed) {
        await Promise.race([closed, this.#woken.promise])
      } else if (delay === null) {
        await this.#woken.promise
      } else if (delay > 0) {
        await timing.sleep(delay, stop)
      } else {
        const work = await this.#take().catch((error: unknown) => this.#fail(error))
        if (work) this.#begin(work)
        else if (this.#waiting.length + this.#underWay.size === 0) break
        else await this.#change()
      }
    }
    await Promise.all(this.#underWay)
    stop.removeEventListener('abort', this.#wake)
    if (this.#fault) throw this.#fault.error
  }

  /** What is due to be tried again goes first; null where nothing can be begun now. */
  async #take(): Promise<Work<Task> | null> {
    const { rules, next, timing } = this.#options
    const now = timing.now()
    const due = this.#waiting.findIndex((work) => work.due <= now)
    if (due >= 0) return this.#waiting.splice(due, 1)[0]!
    if (this.#exhausted || this.#waiting.length >= waitingPerPlace * rules.concurrency) return null
    const task = await next()
    this.#exhausted = task === null
    return task && { task, pass: 0, attempt: 1, fetched: false, failures: [], due: 0 }
  }

  #begin(work: Work<Task>): void {
    this.#options.pacer.start()
    const running = this.#attempt(work)
      .then((more) => void (more && this.#waiting.push(more)))
      .catch((error: unknown) => void this.#fail(error))
      .finally(() => {
        this.#underWay.delete(running)
        this.#wake()
      })
    this.#underWay.add(running)
  }

  /** One request. Returns the work where more of it is to do: another attempt, or the next pass. */
  async #attempt(work: Work<Task>): Promise<Work<Task> | null> {
    const { passes, rules, timing, abort, force, fetchPage, random, onDone, pacer, observer } = this.#options
    let result: WarmResult | null = null
    let verdict: Verdict | null = null
    const ended = observer.began(work.task.url, work.attempt)
    try {
      result = await fetchPage(work.task.url, { headers: passes[work.pass]!, force, signal: abort })
      // Given up by us, which is no failure of the page.
      if (abort.aborted && result.kind === 'failed') result = null
      else verdict = judgeAttempt(result, work.attempt, rules, random())
    } finally {
      pacer.end(result && toPaceSample(result))
      ended(result, verdict !== null && verdict.kind !== 'retry')
    }
    if (verdict === null) return null
    if (verdict.kind === 'retry') return { ...work, attempt: work.attempt + 1, due: timing.now() + verdict.after }
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

  /** Resolves when a request has ended, a retry's time has come, or all is to stop. */
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
    this.#fault ??= { error }
    return null
  }
}

function withVerdict<Task>(work: Work<Task>, verdict: Exclude<Verdict, { kind: 'retry' }>): Work<Task> {
  const { pass, attempt, fetched, failures } = work
  const next = { ...work, pass: pass + 1, attempt: 1, due: 0 }
  if (verdict.kind === 'warm') return { ...next, fetched: fetched || verdict.fetched }
  return {
    ...next,
    failures: [...failures, { variant: pass, status: verdict.status, error: verdict.error, attempts: attempt }],
  }
}
