import { formatCount, plural } from '../lib/format.ts'
import type { Purged } from '../operations/purge.ts'
import type { PurgeItemValue, PurgeStatistics } from '../operations/purge-log.ts'
import { drawChart, isWorthDrawing } from './chart.ts'
import { presentList, type Column, type ViewFlags } from './list.ts'
import type { Output } from './output.ts'
import { presentLog, type Log } from './search-log.ts'

/** Prints how many pages were purged, or would be, and the reverse proxies that purge them too. */
export async function presentPurged(value: Purged, output: Output, soft: boolean): Promise<void> {
  const { wouldRemove, pages = [], proxies, softened } = value
  const done = soft ? 'stale' : softened.length > 0 ? 'removed or stale' : 'removed'
  if (wouldRemove !== undefined) {
    output.prose(`${plural(wouldRemove, 'page')} would be ${done} here.`)
    await presentDoomed(pages, wouldRemove, output)
    presentSoftened(softened, output, 'would be marked as stale')
    presentDeliveries(proxies, output, { dry: true })
    return
  }
  presentRemoved(`${plural(value.pagesRemoved, 'page')} ${done}`, value, output)
  presentSoftened(softened, output, 'were marked as stale')
  presentDeliveries(proxies, output, { dry: false })
}

interface Doomed {
  type: string
  url: string
}

/** Lists the pages that a dry run would remove: all of them or a sample. */
export async function presentDoomed(items: readonly Doomed[], total: number, output: Output): Promise<void> {
  const columns: readonly Column<Doomed>[] = [
    { name: 'type', value: ({ type }) => type },
    { name: 'url', value: ({ url }) => url, kind: 'url' },
  ]
  if (items.length > 0) await presentList({ columns, items, noun: 'page', empty: '' }, output, null)
  if (items.length < total) output.line(`... and ${formatCount(total - items.length)} more.`)
}

/** Prints how many pages were removed by each node, and which nodes may still serve them. */
export function presentRemoved(
  what: string,
  { nodes, unconfirmed = [] }: { nodes?: readonly Share[] | undefined; unconfirmed?: readonly string[] | undefined },
  output: Output,
): void {
  const shares = nodes
    ?.map((node) => `${node.name} ${formatCount(node.pagesRemoved ?? node.filesDeleted ?? 0)}`)
    .join(', ')
  output.prose(
    nodes === undefined ? `${what} here.` : `${what} on ${plural(nodes.length, 'node')}${shares && `: ${shares}`}.`,
  )
  if (unconfirmed.length > 0)
    output.prose(
      `Unconfirmed: ${unconfirmed.join(', ')} had no lease and may serve old pages for a while (cluster.alone).`,
    )
}

interface Share {
  name: string
  pagesRemoved?: number
  filesDeleted?: number
}

/** Explains which tags the purge budget purged softly. */
function presentSoftened(softened: Purged['softened'], output: Output, done: string): void {
  for (const { tag, share } of softened)
    output.prose(
      `${tag} is on ${(share * 100).toFixed(1)} % of all pages, more than purge.softAbove. These pages ${done}; a warmup renews them, the most visited ones first. To remove them: --hard`,
    )
}

/** Prints the reverse proxies that a purge is delivered to. */
export function presentDeliveries(proxies: Purged['proxies'] = [], output: Output, { dry }: { dry: boolean }): void {
  if (!dry) for (const { name } of proxies) output.prose(`${name}: queued.`)
  else if (proxies.length > 0) output.prose(`Would be queued for ${proxies.map(({ name }) => name).join(', ')}.`)
}

/** Prints a section of a timeline, oldest first, and its position. */
export async function presentTimeline(
  { items, total, offset }: { items: readonly PurgeItemValue[]; total: number; offset: number },
  output: Output,
  flags: ViewFlags,
): Promise<void> {
  await presentPurges({ items }, output, flags)
  if (!output.terminal || items.length === total) return
  const position = offset > 0 ? `, before the latest ${formatCount(offset)}` : ', the latest'
  output.prose(
    `${formatCount(items.length)} of ${plural(total, 'purge')}${position}. Show more with --limit and --offset.`,
  )
}

const columns: readonly Column<PurgeItemValue>[] = [
  { name: 'at', value: (item) => item.createdAt, kind: 'time' },
  { name: 'kind', value: (item) => item.kind },
  { name: 'key', value: keyOf, kind: 'url' },
  { name: 'pages', value: (item) => item.pagesRemoved },
  { name: 'mode', value: (item) => item.mode, minor: true },
  { name: 'source', value: (item) => item.source, minor: true },
  { name: 'actor', value: (item) => item.actor, kind: 'text', minor: true },
  { name: 'ms', value: (item) => item.responseTime, show: showMs, minor: true },
  { name: 'proxies', value: proxiesOf, kind: 'text', minor: true },
  { name: 'unconfirmed', value: (item) => item.unconfirmed.join(', ') || null, kind: 'text', minor: true },
]

/** Draws the purges of the last hours on a terminal; prints a row for each hour in a pipe. */
export async function presentHours(hourly: PurgeStatistics['hourly'], output: Output): Promise<void> {
  output.line()
  if (!output.terminal) {
    await output.table(
      ['hour', 'purges', 'note'],
      hourly.map(({ hour, purges, partial }) => [hour, purges, partial ? 'partial' : null]),
    )
    return output.line()
  }
  if (hourly.every(({ purges }) => purges === 0)) return output.prose('No purge in the last 24 hours.')
  const points = hourly.map(({ hour, purges }) => ({ label: `${hour.slice(11, 16)} UTC`, value: purges }))
  if (!isWorthDrawing(points))
    return output.prose(`All of them in the hour from ${points.find(({ value }) => value > 0)!.label}.`)
  output.prose('Purges by hour:')
  for (const line of drawChart(points, { width: Math.min(output.columns, 80), height: 6 })) output.line(line)
  output.line()
}

/** Prints purges as a list. */
export async function presentPurges(
  list: Pick<Log<PurgeItemValue>, 'items' | 'total' | 'next' | 'searchedTo'>,
  output: Output,
  flags: ViewFlags,
): Promise<void> {
  await presentLog({ columns, ...list, noun: 'purge', empty: 'No purge is in the log.' }, output, flags)
}

function showMs({ responseTime }: PurgeItemValue): string | null {
  return responseTime === null ? null : responseTime.toFixed(1)
}

function keyOf(item: PurgeItemValue): string | null {
  const entity = item.kind === 'entity' ? `${item.entityType} ${item.entityNumber ?? item.entityId}: ` : ''
  const key = item.url ?? item.tag ?? item.type ?? item.value
  return key === null ? null : entity + key
}

function proxiesOf({ proxies }: PurgeItemValue): string | null {
  if (proxies.length === 0) return null
  return proxies
    .map(
      ({ name, status, attempts, error }) =>
        `${name} ${status}${attempts > 1 ? ` (${attempts} attempts)` : ''}${error === null ? '' : `: ${error}`}`,
    )
    .join(', ')
}
