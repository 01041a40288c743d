import { useState } from 'preact/hooks'
import type { Traffic } from './answers.ts'
import { TimeChart } from './chart.tsx'
import { formatBytes, formatCount, formatMs } from './format.ts'
import { Figure, Known, Panel, Table } from './parts.tsx'
import { useResource } from './use-resource.ts'

const ranges = ['1 h', '24 h', '7 d', '30 d'] as const

/** Milliseconds between two questions: the daemon writes its counts every ten seconds. Long ranges change little in a minute. */
const [often, seldom] = [5_000, 60_000]

/** What visitors got: hit ratio and requests over time, by type, and the most frequent misses. */
export function TrafficPanel() {
  const [range, setRange] = useState<(typeof ranges)[number]>('24 h')
  const every = range.endsWith('h') ? often : seldom
  const traffic = useResource<Traffic>('vendor-cache/traffic', { last: range }, every)
  return (
    <Panel
      title="Visitors"
      aside={
        <span class="row" role="group" aria-label="Range">
          {ranges.map((each) => (
            <button key={each} type="button" aria-pressed={each === range} onClick={() => setRange(each)}>
              {each}
            </button>
          ))}
        </span>
      }
    >
      <Known of={traffic}>{(value) => <Shown value={value} />}</Known>
    </Panel>
  )
}

function Shown({ value: { totals, series, bucket, byType, topMisses } }: { value: Traffic }) {
  const at = series.map((point) => Date.parse(point.at) / 1000)
  return (
    <>
      <dl class="figures">
        <Figure name="Hit ratio" value={formatRatio(totals.hitRatio)} />
        <Figure name="Misses" value={formatCount(totals.misses)} />
        <Figure
          name="Requests"
          value={formatCount(totals.requests)}
          note={`${formatCount(totals.passes)} bypassed the cache`}
        />
        <Figure name="Sent" value={formatBytes(totals.bytes)} />
        <Figure name="Shop, 95th percentile" value={formatMs(totals.originP95)} />
        <Figure name="Server errors" value={formatCount(totals.statuses['5xx'])} />
      </dl>
      {totals.requests === 0 ? (
        <p class="empty">No visitors in this time.</p>
      ) : (
        <>
          <TimeChart
            caption={`Requests by ${bucket}`}
            at={at}
            lines={[
              { name: 'Hits', values: series.map(({ hits, stale }) => hits + stale) },
              { name: 'Misses', values: series.map(({ misses }) => misses) },
              { name: 'Bypassed', values: series.map(({ passes }) => passes) },
              { name: 'Errors', values: series.map(({ errors }) => errors) },
            ]}
          />
          <Table
            caption="Visitors by page type"
            head={['Type', 'Requests', 'Hit ratio', 'Sent', '95th percentile', 'Shop']}
            rows={byType.map(({ type, requests, hitRatio, bytes, p95, originTime }) => [
              type,
              requests,
              formatRatio(hitRatio),
              formatBytes(bytes),
              formatMs(p95),
              formatMs(originTime),
            ])}
            empty=""
          />
          <h3>Most frequent misses</h3>
          <Table
            caption="Most frequent misses"
            head={['Path', 'Reason', 'Misses', 'Shop']}
            rows={topMisses
              .slice(0, 10)
              .map(({ path, reason, requests, originTime }) => [
                <code>{path}</code>,
                reason,
                requests,
                formatMs(originTime),
              ])}
            empty="No misses in this time."
          />
        </>
      )}
    </>
  )
}

function formatRatio(ratio: number | null): string {
  return ratio === null ? '–' : `${(ratio * 100).toFixed(1)} %`
}
