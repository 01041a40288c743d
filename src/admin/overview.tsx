import { formatBytes } from '../lib/format-bytes.ts'
import type { ReverseProxyStatistics, Statistics } from './answers.ts'
import { Confirm, Danger, DangerZone } from './actions.tsx'
import { useApi } from './api-context.ts'
import { useKnownChannels } from './channels.ts'
import { ShareBars, TimeChart } from './chart.tsx'
import { formatCount, formatCounted, formatMs, formatShare, unconfirmedText } from './format.ts'
import { LocalPager, LocalSearch, pick, useList } from './list.tsx'
import { NodesPanel } from './nodes.tsx'
import { Figure, Known, Panel } from './parts.tsx'
import { Table } from './table.tsx'
import { TagActions } from './url-actions.tsx'
import { TrafficPanel } from './traffic.tsx'
import { useResource } from './use-resource.ts'
import { Key } from './words.tsx'

/** Page types with their names in `byTypeDetailed`. */
const singular = {
  products: 'product',
  categories: 'category',
  cms: 'cms',
  listings: 'listing',
  buybox: 'buybox',
} as const
const pageTypes = Object.keys(singular) as (keyof typeof singular)[]

export function OverviewView() {
  const statistics = useResource<Statistics>('vendor-cache/stats')
  const purges = useResource<ReverseProxyStatistics>('vendor-cache/reverse-proxy-stats', {}, 5000)
  return (
    <>
      <NoChannels />
      <NodesPanel />
      <TrafficPanel />
      <Panel title="Cached pages">
        <Known of={statistics}>{(value) => <Cached value={value} />}</Known>
      </Panel>
      <Panel title="Purges in the last 24 hours">
        <Known of={purges}>
          {({ overview, hourly, topTags }) => (
            <>
              <dl class="figures">
                <Figure name="Purges" value={formatCount(overview.totalPurges)} />
                <Figure name="URLs" value={formatCount(overview.distinctUrls)} />
                <Figure name="Tags" value={formatCount(overview.distinctTags)} />
                <Figure name="Response time" value={formatMs(overview.avgResponseTime)} />
              </dl>
              {overview.totalPurges === 0 ? (
                <p class="empty">No purges in this time.</p>
              ) : (
                <TimeChart
                  caption="Purges by hour"
                  bars
                  at={hourly.map(({ hour }) => Date.parse(hour) / 1000)}
                  lines={[{ name: 'Purges', values: hourly.map(({ purges: count }) => count) }]}
                />
              )}
              {topTags.length === 0 ? null : <TopTags items={topTags} />}
            </>
          )}
        </Known>
      </Panel>
      {statistics.value === null ? null : <Clearing value={statistics.value} onCleared={statistics.refresh} />}
    </>
  )
}

/** The first thing to do on a fresh installation. */
function NoChannels() {
  if (useKnownChannels()?.length !== 0) return null
  return (
    <p class="error-notice">
      No sales channel is configured, so the daemon answers visitors with 421. Add the shop to{' '}
      <code>salesChannels</code> in pagecache.yaml (<code>pagecache init</code> writes one), or start the daemon with{' '}
      <code>pagecache serve --origin http://127.0.0.1:8000</code>.
    </p>
  )
}

function TopTags({ items }: { items: ReverseProxyStatistics['topTags'] }) {
  const list = useList('tags', 10)
  const found = pick(list, items, ({ tag }) => tag)
  return (
    <>
      <h3>Tags purged most often</h3>
      <LocalSearch list={list} count={items.length} label="Tag contains" />
      <Table
        caption="Tags purged most often"
        head={['Tag', 'Purges', '']}
        rows={found.map(({ tag, count }) => [{ by: tag, shown: <Key text={tag} /> }, count, <TagActions tag={tag} />])}
        keys={found.map(({ tag }) => tag)}
        sort="here"
        part={list}
        empty="Nothing matches."
      />
      <LocalPager list={list} total={found.length} />
    </>
  )
}

function Cached({ value }: { value: Statistics }) {
  const { aggregated, byType, byTypeDetailed } = value
  return (
    <>
      <dl class="figures">
        <Figure name="Pages" value={formatCount(value.totalFiles)} />
        <Figure name="On disk" value={value.totalSizeFormatted} />
        <Figure
          name="Space saved"
          value={formatShare(aggregated.totalSpaceSaved, aggregated.totalOriginalSize)}
          note={formatBytes(aggregated.totalSpaceSaved)}
        />
        <Figure name="Generation time" value={formatAverage(aggregated.avgGenerationTime)} />
        <Figure name="Hit time" value={formatAverage(aggregated.avgCacheHitTime)} />
      </dl>
      {value.totalFiles === 0 ? (
        <p class="empty">
          No cached pages yet. Visit the shop through this daemon, or start a <a href="#warmup">warmup</a>.
        </p>
      ) : (
        <ShareBars caption="Pages by type" shares={pageTypes.map((type) => ({ name: type, count: byType[type] }))} />
      )}
      {value.nodes === undefined ? null : (
        <Table
          caption="Pages by node"
          head={['Node', 'Pages', 'On disk']}
          rows={value.nodes.map(({ name, totalFiles, totalSize, totalSizeFormatted }) => [
            name,
            totalFiles,
            { by: totalSize, shown: totalSizeFormatted },
          ])}
          keys={value.nodes.map(({ name }) => name)}
          sort="here"
          empty="No node is live."
        />
      )}
      <details>
        <summary>Details by type</summary>
        <Table
          caption="Details by type"
          head={['Type', 'Pages', 'Saved', 'Generation time', 'Hit time']}
          rows={pageTypes.map((type) => {
            const detail = byTypeDetailed[singular[type]]
            return [
              type,
              byType[type],
              { by: detail.spaceSaved, shown: formatBytes(detail.spaceSaved) },
              { by: detail.avgGenerationTime, shown: formatAverage(detail.avgGenerationTime) },
              { by: detail.avgCacheHitTime, shown: formatAverage(detail.avgCacheHitTime) },
            ]
          })}
          keys={pageTypes}
          sort="here"
          empty=""
        />
      </details>
    </>
  )
}

function Clearing({ value, onCleared }: { value: Statistics; onCleared(): void }) {
  const api = useApi()
  const clear = async (type?: string) => {
    const { filesDeleted, unconfirmed } = await api.post<{ filesDeleted: number; unconfirmed?: string[] }>(
      type ? 'vendor-cache/clear-by-type' : 'vendor-cache/clear',
      type ? { type } : undefined,
    )
    onCleared()
    return `${formatCounted(filesDeleted, 'file')} removed.${unconfirmedText(unconfirmed)}`
  }
  const waits = 'Visitors wait for the shop until they are cached again.'
  return (
    <DangerZone>
      <Danger what="Clear the pages of one type.">
        {pageTypes.map((type) => (
          <Confirm
            key={type}
            label={`Clear ${type}`}
            title={`Clear all pages of the type ${type}`}
            question={`${formatCounted(value.byType[type], 'page')} will be removed. ${waits}`}
            act={() => clear(type)}
          />
        ))}
      </Danger>
      <Danger what="Clear the whole cache.">
        <Confirm
          label="Clear all pages"
          question={`${formatCounted(value.totalFiles, 'page')} will be removed. ${waits}`}
          act={() => clear()}
        />
      </Danger>
    </DangerZone>
  )
}

/** Formats an average in seconds; 0 if nothing was measured. */
function formatAverage(seconds: number): string {
  return seconds > 0 ? formatMs(seconds * 1000) : '–'
}
