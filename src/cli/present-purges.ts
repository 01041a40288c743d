import { plural } from '../lib/format.ts'
import type { Purged } from '../operations/purge.ts'
import type { PurgeItemValue } from '../operations/purge-log.ts'
import type { Cell, Output } from './output.ts'

/** Prints how many pages were purged, or would be, and the reverse proxies that purge them too. */
export async function presentPurged(value: Purged, output: Output, soft: boolean): Promise<void> {
  const { wouldRemove, pages = [], proxies } = value
  const done = soft ? 'stale' : 'removed'
  if (wouldRemove !== undefined) {
    output.line(`${plural(wouldRemove, 'page')} would be ${done} here.`)
    if (pages.length > 0)
      await output.table(
        ['type', 'url'],
        pages.map((page) => [page.type, page.url]),
      )
    if (pages.length < wouldRemove) output.line(`... and ${wouldRemove - pages.length} more.`)
    presentDeliveries(proxies, output, { dry: true })
    return
  }
  output.line(`${plural(value.pagesRemoved, 'page')} ${done} here.`)
  presentDeliveries(proxies, output, { dry: false })
}

/** Prints the reverse proxies that a purge is delivered to. */
export function presentDeliveries(proxies: Purged['proxies'] = [], output: Output, { dry }: { dry: boolean }): void {
  if (!dry) for (const { name } of proxies) output.line(`${name}: queued.`)
  else if (proxies.length > 0) output.line(`Would be queued for ${proxies.map(({ name }) => name).join(', ')}.`)
}

/** Prints a section of a timeline, oldest first, and its position. */
export async function presentTimeline(
  { items, total, offset }: { items: readonly PurgeItemValue[]; total: number; offset: number },
  output: Output,
): Promise<void> {
  await presentPurges(items, output)
  if (!output.terminal || items.length === total) return
  const position = offset > 0 ? `, before the latest ${offset}` : ', the latest'
  output.line(`${items.length} of ${plural(total, 'purge')}${position}. Show more with --limit and --offset.`)
}

/** Prints purges as a table. */
export async function presentPurges(items: readonly PurgeItemValue[], output: Output): Promise<void> {
  await output.table(['at', 'kind', 'key', 'pages', 'source', 'ms', 'proxies'], items.map(toRow))
}

function toRow(item: PurgeItemValue): Cell[] {
  return [item.createdAt, item.kind, keyOf(item), item.pagesRemoved, item.source, item.responseTime, proxiesOf(item)]
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
