import { setTimeout as sleep } from 'node:timers/promises'
import { toAdvance } from './advance.ts'
import { answered, newFeed, pauseAfter, unanswered } from './feed.ts'
import type { Source } from './source.ts'
import { isOver, silence, waitingText, type Watched } from './tabs/warmup/watched.ts'

export interface WatchLinesOptions {
  source: Source
  /** Null: the latest run. */
  id: string | null
  signal: AbortSignal
  /** Called four times a second; decides what to print. */
  update(advance: ReturnType<typeof toAdvance>): void
  /** Called when something has changed that no figure shows. */
  tell(message: string): void
}

const every = 250

/**
 * Watches a run without a screen until it has ended or the signal is aborted. Keeps polling a source that does not answer.
 *
 * @returns the last known values
 * @throws the error of the first poll, because there is nothing to watch then
 */
export async function watchLines({ source, id, signal, update, tell }: WatchLinesOptions): Promise<Watched> {
  const input = id === null ? {} : { progressId: id }
  let watched = (await source.perform('warmup.watch', input)) as Watched
  let feed = newFeed(0)
  let told = ''
  const tellOnce = (message: string) => {
    if (message !== told && message !== '') tell(message)
    told = message
  }
  while (watched.progress && !isOver(watched.progress.status) && !signal.aborted) {
    const { progress } = watched
    update(toAdvance({ ...watched, progress }))
    await sleep(pauseAfter(feed, every, 0.5), undefined, { signal }).catch(() => {})
    try {
      watched = (await source.perform('warmup.watch', { progressId: progress.id })) as Watched
      feed = answered(feed, null, 0)
      tellOnce(news(watched))
    } catch (error) {
      if (signal.aborted) break
      feed = unanswered(feed, '')
      tellOnce(`No response, retrying: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  if (watched.progress) update(toAdvance({ ...watched, progress: watched.progress }))
  return watched
}

function news(watched: Watched): string {
  if (watched.progress?.status === 'paused') return 'Paused.'
  const waiting = waitingText(watched)
  if (waiting !== null) return `${waiting}.`
  return silence(watched) === null ? '' : 'No worker is processing it. Start one: pagecache messenger:consume async'
}
