import { answered, unanswered, type Feed, type FollowPlan } from './feed.ts'
import { follow } from './follow.ts'
import type { Source } from './source.ts'

export interface FollowerOptions {
  source: Source
  plan: FollowPlan
  /** The feed so far. */
  feed: Feed
  /** Monotonic milliseconds. */
  now(): number
  /** Called with the feed at most once per interval of the plan, however many events arrive. */
  onFeed(feed: Feed): void
}

/** Follows a live operation and folds its events into the value of a feed. Returns what ends it. */
export function followFeed({ source, plan, feed: before, now, onFeed }: FollowerOptions): () => void {
  const end = new AbortController()
  let feed = before
  let told: Feed | null = null
  let timer: NodeJS.Timeout | null = null
  const tell = () => {
    timer = null
    if (told === feed || end.signal.aborted) return
    told = feed
    onFeed(feed)
    timer = setTimeout(tell, plan.every)
  }
  const set = (next: Feed) => {
    feed = next
    // Events that arrive together are told together.
    timer ??= setTimeout(tell, 0)
  }
  void follow({
    source,
    operation: plan.operation,
    input: plan.input,
    signal: end.signal,
    patient: true,
    emit: (event) => {
      const at = now()
      set(answered(feed, plan.fold(feed.value, event, at), at))
    },
    onInterruption: (reason) => {
      if (reason !== null) set(unanswered(feed, reason))
    },
  })
  return () => {
    end.abort()
    if (timer !== null) clearTimeout(timer)
  }
}
