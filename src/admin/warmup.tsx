import { useState } from 'preact/hooks'
import type { Failures, WarmupList, WarmupProgress, WarmupWatch } from './answers.ts'
import { TimeChart } from './chart.tsx'
import { formatCount, formatCounted, formatMs, formatTime } from './format.ts'
import { Act, Confirm, Field, Figure, Known, Panel, Table } from './parts.tsx'
import { useApi } from './api-context.ts'
import { useResource, type Resource } from './use-resource.ts'

export function WarmupView() {
  const [chosen, setChosen] = useState<string | undefined>()
  const watch = useResource<WarmupWatch>('vendor-cache/warmup/watch', { progressId: chosen }, 1000)
  const list = useResource<WarmupList>('vendor-cache/warmup/list', { limit: 10 }, 5000)
  const shown = watch.value?.progress?.id
  const failures = useResource<Failures>(
    shown ? 'vendor-cache/warmup/failures' : null,
    { progressId: shown, limit: 50 },
    3000,
  )
  const refresh = () => {
    watch.refresh()
    list.refresh()
  }
  return (
    <>
      <Start
        onStarted={(id) => {
          setChosen(id)
          refresh()
        }}
      />
      <Panel title="Progress">
        <Known of={watch}>
          {(value) =>
            value.progress ? (
              <Progress watch={value} progress={value.progress} onMoved={refresh} />
            ) : (
              <p class="empty">No warmup yet.</p>
            )
          }
        </Known>
      </Panel>
      {shown ? <FailureList of={failures} /> : null}
      <Panel title="Runs">
        <Known of={list}>
          {({ items }) => (
            <Table
              caption="Warmup runs, newest first"
              head={['Started', 'State', 'URLs', 'Done', 'Failed', '']}
              rows={items.map((run) => [
                formatTime(run.created_at),
                run.status,
                run.total_urls,
                `${run.percentage} %`,
                run.failed_urls,
                <button
                  type="button"
                  onClick={() => setChosen(run.id)}
                  aria-label={`Show the run of ${formatTime(run.created_at)}`}
                >
                  Show
                </button>,
              ])}
              empty="No warmup yet."
            />
          )}
        </Known>
      </Panel>
    </>
  )
}

function FailureList({ of }: { of: Resource<Failures> }) {
  return (
    <Panel title="Failures">
      <Known of={of}>
        {({ items, total }) => (
          <>
            <Table
              caption="Failed URLs"
              head={['URL', 'Error', 'Attempts', 'Time']}
              rows={items.map((item) => [<code>{item.url}</code>, item.error, item.attempts, formatTime(item.at)])}
              empty="None."
            />
            {total > items.length ? (
              <p class="soft">
                {formatCount(total)} in all; <code>pagecache warmup:failures</code> lists them.
              </p>
            ) : null}
          </>
        )}
      </Known>
    </Panel>
  )
}

function Start({ onStarted }: { onStarted(id: string): void }) {
  const api = useApi()
  const [channel, setChannel] = useState('')
  const [batchSize, setBatchSize] = useState('50')
  const start = async () => {
    const { progressId, totalUrls } = await api.post<{ progressId: string; totalUrls: number }>(
      'vendor-cache/warmup/start',
      {
        salesChannelId: channel.trim() === '' ? null : channel.trim(),
        batchSize: Number(batchSize),
      },
    )
    onStarted(progressId)
    return `Started with ${formatCounted(totalUrls, 'URL')}.`
  }
  return (
    <Panel title="Start a warmup">
      <div class="row">
        <Field label="Sales channel ID (empty: all)" value={channel} set={setChannel} width="wide" />
        <Field label="Batch size" type="number" value={batchSize} set={setBatchSize} />
        <Act label="Start" busy="Reading sitemaps …" act={start} />
      </div>
    </Panel>
  )
}

function Progress({ watch, progress, onMoved }: { watch: WarmupWatch; progress: WarmupProgress; onMoved(): void }) {
  const api = useApi()
  // The state, which screen readers announce, has the result.
  const move = (to: string) => async () => {
    await api.post(`vendor-cache/warmup/${to}`, { progressId: progress.id })
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
          name="URLs in a second"
          value={live ? live.rate.now.toFixed(1) : '–'}
          note={live ? `average ${live.rate.average.toFixed(1)}, peak ${live.rate.peak.toFixed(0)}` : undefined}
        />
        <Figure
          name="Left"
          value={live?.eta ? `about ${Math.ceil(live.eta.seconds)} s` : '–'}
          note={live?.eta ? `${Math.ceil(live.eta.low)} to ${Math.ceil(live.eta.high)} s` : undefined}
        />
        <Figure
          name="Answers of the shop"
          value={formatMs(live?.latency.p50 ?? null)}
          note={live?.latency.p99 ? `99 % within ${formatMs(live.latency.p99)}` : undefined}
        />
      </dl>
      <div class="row">
        {/* One button, which keeps the focus when it changes. */}
        {isOpen ? <Act label={isRunning ? 'Pause' : 'Resume'} act={move(isRunning ? 'pause' : 'resume')} /> : null}
        {isOpen ? (
          <Confirm
            label="Cancel"
            question={`The warmup ends with ${formatCounted(progress.remaining_urls, 'URL')} remaining. Cached pages stay cached. A cancelled warmup cannot be resumed.`}
            act={move('cancel')}
          />
        ) : null}
      </div>
      {live && isRunning ? (
        <TimeChart
          caption="URLs done in each second"
          at={live.perSecond.map((_, index) => Math.round(live.at / 1000) - 59 + index)}
          lines={[{ name: 'URLs per second', values: live.perSecond }]}
        />
      ) : null}
      {live && live.origins.some((origin) => origin.throttled) ? (
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
