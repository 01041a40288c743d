import {
  answered,
  isFollowed,
  newFeed,
  pauseAfter,
  unanswered,
  type Feed,
  type FeedPlan,
  type FollowPlan,
} from './feed.ts'
import { followFeed } from './follower.ts'
import type { Source } from './source.ts'

/** Feeds by name. */
export type Feeds = Readonly<Record<string, Feed>>
export type FeedPlans = Readonly<Record<string, FeedPlan>>

export interface PollerOptions {
  source: Source
  /** Monotonic milliseconds. */
  now(): number
  random(): number
  /** Called when a feed has changed. */
  onChange(feeds: Feeds): void
}

interface Running {
  plan: FeedPlan
  stopped: boolean
  timer: NodeJS.Timeout | null
  /** Ends a live operation. */
  end(): void
}

/** Polls the operations of the visible tab, each at its own interval and one request per feed at a time, and follows live ones. */
export class Poller {
  readonly #options: PollerOptions
  readonly #running = new Map<string, Running>()
  #feeds: Feeds = {}

  constructor(options: PollerOptions) {
    this.#options = options
  }

  get feeds(): Feeds {
    return this.#feeds
  }

  /** Changes the polled operations. A feed that is no longer polled keeps its last value for when it is shown again. */
  want(plans: FeedPlans): void {
    for (const [name, running] of this.#running) {
      if (!samePlan(running.plan, plans[name])) this.#stop(name, running)
    }
    for (const [name, plan] of Object.entries(plans)) {
      if (this.#running.has(name)) continue
      const running: Running = { plan, stopped: false, timer: null, end: () => {} }
      this.#running.set(name, running)
      const known = this.#feeds[name]
      this.#feeds = {
        ...this.#feeds,
        [name]: known ? { ...known, since: this.#options.now(), at: null } : newFeed(this.#options.now()),
      }
      if (isFollowed(plan)) this.#follow(name, running, plan)
      else void this.#ask(name, running)
    }
  }

  /** Polls everything now, to show the effect of a command. */
  hurry(): void {
    for (const [name, running] of this.#running) {
      if (running.timer === null) continue
      clearTimeout(running.timer)
      running.timer = null
      void this.#ask(name, running)
    }
  }

  stop(): void {
    for (const [name, running] of this.#running) this.#stop(name, running)
  }

  async #ask(name: string, running: Running): Promise<void> {
    const { source, now, random, onChange } = this.#options
    const { operation, input, every } = running.plan
    let after: (feed: Feed) => Feed
    try {
      const value = await within(answerWithin, source.perform(operation, input))
      after = (feed) => answered(feed, value, now())
    } catch (error) {
      after = (feed) => unanswered(feed, error instanceof Error ? error.message : String(error))
    }
    if (running.stopped) return
    const feed = after(this.#feeds[name]!)
    this.#feeds = { ...this.#feeds, [name]: feed }
    running.timer = setTimeout(
      () => {
        running.timer = null
        void this.#ask(name, running)
      },
      pauseAfter(feed, every, random()),
    )
    onChange(this.#feeds)
  }

  #follow(name: string, running: Running, plan: FollowPlan): void {
    const { source, now, onChange } = this.#options
    const onFeed = (feed: Feed) => {
      this.#feeds = { ...this.#feeds, [name]: feed }
      onChange(this.#feeds)
    }
    running.end = followFeed({ source, plan, feed: this.#feeds[name]!, now, onFeed })
  }

  #stop(name: string, running: Running): void {
    running.stopped = true
    running.end()
    if (running.timer !== null) clearTimeout(running.timer)
    this.#running.delete(name)
  }
}

/** Timeout of a poll, in milliseconds: a frozen daemon never answers. */
const answerWithin = 10_000

async function within<T>(milliseconds: number, answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no response within ${milliseconds / 1000} s`)), milliseconds)
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function samePlan(left: FeedPlan, right: FeedPlan | undefined): boolean {
  return (
    right !== undefined &&
    left.operation === right.operation &&
    left.every === right.every &&
    JSON.stringify(left.input) === JSON.stringify(right.input)
  )
}
