import { plural } from '../lib/format.ts'
import type { Cleared } from '../operations/cache.ts'
import type { Output } from './output.ts'
import { presentDeliveries } from './present-purges.ts'

/** Prints how many pages were removed, or would be. */
export async function presentCleared(value: Cleared, output: Output): Promise<void> {
  const { wouldDelete, pages = [] } = value
  if (wouldDelete === undefined) {
    output.line(`${plural(value.filesDeleted, 'file')} removed.`)
    presentDeliveries(value.proxies, output, { dry: false })
    return
  }
  output.line(`${plural(wouldDelete, 'file')} would be removed.`)
  if (pages.length > 0)
    await output.table(
      ['type', 'url'],
      pages.map((page) => [page.type, page.url]),
    )
  if (pages.length < wouldDelete) output.line(`... and ${wouldDelete - pages.length} more.`)
  presentDeliveries(value.proxies, output, { dry: true })
}
