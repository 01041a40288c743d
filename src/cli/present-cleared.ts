import { plural } from '../lib/format.ts'
import type { Cleared } from '../operations/cache.ts'
import type { Output } from './output.ts'
import { presentDeliveries, presentDoomed, presentRemoved } from './present-purges.ts'

/** Prints how many files were removed; with several machines, also by node. */
export function presentFiles(value: Pick<Cleared, 'filesDeleted' | 'nodes' | 'unconfirmed'>, output: Output): void {
  const what = `${plural(value.filesDeleted, 'file')} removed`
  if (value.nodes === undefined) output.prose(`${what}.`)
  else presentRemoved(what, value, output)
}

/** Prints how many pages were removed, or would be. */
export async function presentCleared(value: Cleared, output: Output): Promise<void> {
  const { wouldDelete, pages = [] } = value
  if (wouldDelete === undefined) {
    presentFiles(value, output)
    presentDeliveries(value.proxies, output, { dry: false })
    return
  }
  output.prose(`${plural(wouldDelete, 'file')} would be removed.`)
  await presentDoomed(pages, wouldDelete, output)
  presentDeliveries(value.proxies, output, { dry: true })
}
