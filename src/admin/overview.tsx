import type { ReverseProxyStatistics, Statistics } from './answers.ts'
import { useApi } from './api-context.ts'
import { formatBytes, formatCount, formatCounted, formatMs, formatShare } from './format.ts'
import { Act, Confirm, Figure, Known, Panel, Table } from './parts.tsx'
import { ShareBars, TimeChart } from './chart.tsx'
import { TrafficPanel } from './traffic.tsx'
import { useResource } from './use-resource.ts'

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
      <TrafficPanel />
      <Panel title="Cached pages">
        <Known of={statistics}>{(value) => <Cached value={value} onCleared={statistics.refresh} />}</Known>
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
              <TimeChart
                caption="Purges by hour"
                bars
                at={hourly.map(({ hour }) => Date.parse(hour) / 1000)}
                lines={[{ name: 'Purges', values: hourly.map(({ purges: count }) => count) }]}
              />
              <Table
                caption="Tags purged most often"
                head={['Tag', 'Purges']}
                rows={topTags.slice(0, 5).map(({ tag, count }) => [<code>{tag}</code>, count])}
                empty="No tags purged."
              />
            </>
          )}
        </Known>
      </Panel>
    </>
  )
}

function Cached({ value, onCleared }: { value: Statistics; onCleared(): void }) {
  const api = useApi()
  const { aggregated, byType, byTypeDetailed } = value
  const cleared = async (type?: string) => {
    const { filesDeleted } = await api.post<{ filesDeleted: number }>(
      type ? 'vendor-cache/clear-by-type' : 'vendor-cache/clear',
      type ? { type } : undefined,
    )
    onCleared()
    return `${formatCounted(filesDeleted, 'file')} removed.`
  }
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
      <ShareBars caption="Pages by type" shares={pageTypes.map((type) => ({ name: type, count: byType[type] }))} />
      <details>
        <summary>Details by type</summary>
        <Table
          caption="Details by type"
          head={['Type', 'Pages', 'Saved', 'Generation time', 'Hit time', 'Clear']}
          rows={pageTypes.map((type) => {
            const detail = byTypeDetailed[singular[type]]
            return [
              type,
              byType[type],
              formatBytes(detail.spaceSaved),
              formatAverage(detail.avgGenerationTime),
              formatAverage(detail.avgCacheHitTime),
              <Act label={`Clear ${type}`} act={() => cleared(type)} />,
            ]
          })}
          empty=""
        />
      </details>
      <Confirm
        label="Clear all pages"
        question={`The whole cache (${formatCounted(value.totalFiles, 'page')}) will be removed. Visitors wait for the shop until pages are cached again.`}
        act={() => cleared()}
      />
    </>
  )
}

/** Formats an average in seconds; 0 if nothing was measured. */
function formatAverage(seconds: number): string {
  return seconds > 0 ? formatMs(seconds * 1000) : '–'
}
