import { useState } from 'preact/hooks'
import { formatBytes } from '../lib/format-bytes.ts'
import { readableUrl } from '../lib/safe-text.ts'
import type { Traffic } from './answers.ts'
import { useChannels } from './channels.ts'
import type { Channel } from './urls.ts'
import { TimeChart } from './chart.tsx'
import { formatCount, formatMs, formatRatio } from './format.ts'
import { LocalPager, LocalSearch, pick, useList } from './list.tsx'
import { ChannelField, Choices, Field, Figure, Known, Panel } from './parts.tsx'
import { useRoute } from './route.ts'
import { Table } from './table.tsx'
import { UrlActions } from './url-actions.tsx'
import { useResource } from './use-resource.ts'
import { Key } from './words.tsx'

const ranges = ['1 h', '24 h', '7 d', '30 d'] as const
const charts = ['Requests', 'Hit ratio', 'Bytes', 'Shop time'] as const
const types = [
  { value: '', name: 'All types' },
  ...['products', 'categories', 'cms', 'listings', 'buybox', 'other'].map((type) => ({ value: type, name: type })),
]

/** Milliseconds between two questions: the daemon writes its counts every ten seconds. Long ranges change little in a minute. */
const [often, seldom] = [5_000, 60_000]

/** What visitors got: hit ratio and requests over time, by type, and the most frequent misses. */
export function TrafficPanel() {
  const { params, change } = useRoute()
  const channels = useChannels()
  const range = ranges.find((each) => each === params['last']) ?? '24 h'
  const traffic = useResource<Traffic>(
    'vendor-cache/traffic',
    { last: range, type: params['type'], salesChannelId: params['channel'] },
    range.endsWith('h') ? often : seldom,
  )
  return (
    <Panel
      title="Visitors"
      aside={<Choices label="Range" of={ranges} value={range} set={(last) => change({ last })} />}
    >
      <div class="row">
        <Field label="Page type" value={params['type'] ?? ''} set={(type) => change({ type })} list={types} />
        <ChannelField channels={channels} value={params['channel'] ?? ''} set={(channel) => change({ channel })} />
      </div>
      <Known of={traffic}>{(value) => <Shown value={value} channels={channels} />}</Known>
    </Panel>
  )
}

function Shown({ value, channels }: { value: Traffic; channels: readonly Channel[] }) {
  const { totals, byType, topMisses } = value
  return (
    <>
      <dl class="figures">
        <Figure name="Hit ratio" value={formatRatio(totals.hitRatio)} />
        <Figure
          name="Requests"
          value={formatCount(totals.requests)}
          note={`${formatCount(totals.passes)} bypassed the cache`}
        />
        <Figure name="Misses" value={formatCount(totals.misses)} />
        <Figure name="Sent" value={formatBytes(totals.bytes)} />
        <Figure
          name="Shop time"
          value={formatMs(totals.originTime)}
          note={`95th percentile ${formatMs(totals.originP95)}`}
        />
        <Figure name="Server errors" value={formatCount(totals.statuses['5xx'])} />
      </dl>
      {totals.requests === 0 ? (
        <p class="empty">No visitors in this time. Counts appear up to ten seconds after a request.</p>
      ) : (
        <>
          <OverTime value={value} />
          <h3>By page type</h3>
          <Table
            caption="Visitors by page type"
            head={['Type', 'Requests', 'Hit ratio', 'Sent', '95th percentile', 'Shop time']}
            rows={byType.map(({ type, requests, hitRatio, bytes, p95, originTime }) => [
              type,
              requests,
              { by: hitRatio, shown: formatRatio(hitRatio) },
              { by: bytes, shown: formatBytes(bytes) },
              { by: p95, shown: formatMs(p95) },
              { by: originTime, shown: formatMs(originTime) },
            ])}
            keys={byType.map(({ type }) => type)}
            sort="here"
            empty=""
          />
          <h3>Most frequent misses</h3>
          <TopMisses items={topMisses} channels={channels} />
        </>
      )}
    </>
  )
}

function TopMisses({ items, channels }: { items: Traffic['topMisses']; channels: readonly Channel[] }) {
  const list = useList('misses', 10)
  const found = pick(list, items, ({ path, reason }) => `${path} ${readableUrl(path)} ${reason}`)
  return (
    <>
      <LocalSearch list={list} count={items.length} label="Path or reason contains" />
      <Table
        caption="Most frequent misses"
        head={['Path', 'Reason', 'Misses', 'Shop time', '']}
        rows={found.map(({ path, reason, remedy, requests, originTime, salesChannelId }) => [
          { by: path, shown: <Key text={path} /> },
          {
            by: reason,
            shown: (
              <>
                {reason}
                {remedy === null ? null : <small>{remedy}</small>}
              </>
            ),
          },
          requests,
          { by: originTime, shown: formatMs(originTime) },
          <UrlActions url={urlOf(path, salesChannelId, channels)} />,
        ])}
        keys={found.map(({ path, reason }) => `${path} ${reason}`)}
        sort="here"
        part={list}
        empty={list.search === '' ? 'No misses in this time.' : 'Nothing matches.'}
      />
      <LocalPager list={list} total={found.length} />
    </>
  )
}

function OverTime({ value: { series, bucket } }: { value: Traffic }) {
  const [chart, setChart] = useState<(typeof charts)[number]>('Requests')
  const at = series.map((point) => Date.parse(point.at) / 1000)
  const figure = <T,>(read: (point: Traffic['series'][number]) => T) => series.map(read)
  return (
    <>
      <Choices label="Chart" of={charts} value={chart} set={(next) => setChart(next)} />
      {chart === 'Requests' ? (
        <TimeChart
          caption={`Requests by ${bucket}`}
          at={at}
          bars
          lines={[
            { name: 'Hits', values: figure(({ hits, stale }) => hits + stale) },
            { name: 'Misses', values: figure(({ misses }) => misses) },
            { name: 'Bypassed', values: figure(({ passes }) => passes) },
            { name: 'Errors', values: figure(({ errors }) => errors) },
          ]}
        />
      ) : chart === 'Hit ratio' ? (
        <TimeChart
          caption={`Hit ratio by ${bucket}`}
          at={at}
          unit="ratio"
          lines={[{ name: 'Hit ratio', values: figure(({ hitRatio }) => hitRatio) }]}
        />
      ) : chart === 'Bytes' ? (
        <TimeChart
          caption={`Bytes sent by ${bucket}`}
          at={at}
          bars
          unit="bytes"
          lines={[{ name: 'Sent', values: figure(({ bytes }) => bytes) }]}
        />
      ) : (
        <TimeChart
          caption={`Time that the shop took, by ${bucket}`}
          at={at}
          bars
          unit="ms"
          lines={[{ name: 'Shop time', values: figure(({ originTime }) => originTime) }]}
        />
      )}
    </>
  )
}

/** A miss has host and path; its channel has the scheme. */
function urlOf(path: string, channelId: string, channels: readonly Channel[]): string {
  const channel = channels.find(({ id }) => id === channelId)
  return `${channel === undefined ? location.protocol : new URL(channel.url).protocol}//${path}`
}
