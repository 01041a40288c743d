import { formatDuration } from '../lib/format.ts'
import { Act, Confirm } from './actions.tsx'
import type { WarmupProgress, WarmupWatch } from './answers.ts'
import { useApi } from './api-context.ts'
import { TimeChart } from './chart.tsx'
import { formatCount, formatCounted, formatMs } from './format.ts'
import { Figure } from './parts.tsx'

/** A run while it goes on, and what it has done. */
export function Progress({
  watch,
  progress,
  onMoved,
}: {
  watch: WarmupWatch
  progress: WarmupProgress
  onMoved(): void
}) {
  const api = useApi()
  // The state, which screen readers announce, has the result.
  const move =
    (to: string, change = {}) =>
    async () => {
      await api.post(`vendor-cache/warmup/${to}`, { progressId: progress.id, ...change })
      onMoved()
      return ''
    }
  const { live } = watch
  const isRunning = progress.status === 'running'
  const isOpen = isRunning || progress.status === 'paused'
  const done = progress.processed_urls + progress.failed_urls
  return (
    <>
      <p class="state">
        <span role="status" class={`badge ${progress.status}`}>
          {progress.status}
        </span>
        <progress max={100} value={progress.percentage} aria-label="Progress of the warmup" />
        <span>{progress.percentage.toFixed(2)} %</span>
      </p>
      {progress.message ? <p>{progress.message}</p> : null}
      <dl class="figures">
        <Figure name="Done" value={`${formatCount(done)} of ${formatCount(progress.total_urls)}`} />
        <Figure name="Found fresh" value={formatCount(progress.skipped_urls)} />
        <Figure name="Failed" value={formatCount(progress.failed_urls)} />
        <Figure
          name="URLs per second"
          value={live ? (isRunning ? live.rate.now : live.rate.average).toFixed(1) : '–'}
          note={live ? describeRate(live.rate, isRunning) : undefined}
        />
        <Figure
          name="Left"
          value={live?.eta ? `about ${formatDuration(live.eta.seconds)}` : '–'}
          note={live?.eta ? `${formatDuration(live.eta.low)} to ${formatDuration(live.eta.high)}` : undefined}
        />
        <Figure
          name="Shop time"
          value={formatMs(live?.latency.p50 ?? null)}
          note={live?.latency.p99 ? `99th percentile ${formatMs(live.latency.p99)}` : undefined}
        />
        {isOpen || typeof progress.concurrency === 'number' ? (
          <Figure
            name="Concurrency"
            value={concurrencyOf(watch)}
            note={typeof progress.concurrency === 'number' ? 'set for this warmup' : 'as configured'}
          />
        ) : null}
      </dl>
      <div class="row">
        {/* One button, which keeps the focus when it changes. */}
        {isOpen ? (
          <Act kind="main" label={isRunning ? 'Pause' : 'Resume'} act={move(isRunning ? 'pause' : 'resume')} />
        ) : null}
        {isOpen ? <Act label="Slower" act={move('concurrency', { change: -1 })} /> : null}
        {isOpen ? <Act label="Faster" act={move('concurrency', { change: 1 })} /> : null}
        {isOpen ? (
          <Confirm
            label="Cancel"
            title="Cancel the warmup"
            question={`The warmup ends with ${formatCounted(progress.remaining_urls, 'URL')} remaining. Cached pages stay cached. A cancelled warmup cannot be resumed.`}
            act={move('cancel')}
          />
        ) : null}
      </div>
      {live ? <Pace live={live} isRunning={isRunning} /> : null}
    </>
  )
}

/** Concurrent requests per origin. */
function concurrencyOf({ progress, live }: WarmupWatch): string {
  const shown = progress?.concurrency ?? live?.origins[0]?.configured
  return shown === undefined ? '–' : formatCount(shown)
}

/** A run of less than a second has no peak, which is measured by the second. */
function describeRate({ average, peak }: NonNullable<WarmupWatch['live']>['rate'], isRunning: boolean): string {
  const known = peak < average ? [] : [`peak ${peak.toFixed(0)}`]
  return (isRunning ? [`average ${average.toFixed(1)}`, ...known] : ['average', ...known]).join(', ')
}

/** How fast a run is, and which origins it spares. */
function Pace({ live, isRunning }: { live: NonNullable<WarmupWatch['live']>; isRunning: boolean }) {
  return (
    <>
      {isRunning ? (
        <TimeChart
          bars
          caption="URLs done in each second"
          at={live.perSecond.map((_, index) => Math.round(live.at / 1000) - 59 + index)}
          lines={[{ name: 'URLs per second', values: live.perSecond }]}
        />
      ) : null}
      {live.origins.some((origin) => origin.throttled) ? (
        <ul class="warnings">
          {live.origins.flatMap(({ origin, throttled, limit, configured }) =>
            throttled
              ? [
                  <li key={origin}>
                    {origin} is asked less ({limit} of {configured} at once): {throttled.reason}
                  </li>,
                ]
              : [],
          )}
        </ul>
      ) : null}
    </>
  )
}
