import { plural } from '../lib/format.ts'
import type { Cleared } from '../operations/cache.ts'
import type { Output } from './output.ts'
import { presentDeliveries, presentDoomed } from './present-purges.ts'

/** Prints how many pages were removed, or would be. */
export async function presentCleared(value: Cleared, output: Output): Promise<void> {
  const { wouldDelete, pages = [] } = value
  if (wouldDelete === undefined) {
    output.prose(`${plural(value.filesDeleted, 'file')} removed.`)
    presentDeliveries(value.proxies, output, { dry: false })
    return
  }
  output.prose(`${plural(wouldDelete, 'file')} would be removed.`)
  await presentDoomed(pages, wouldDelete, output)
  presentDeliveries(value.proxies, output, { dry: true })
}
