/** Run by `fork`: purges the tag `t` and is killed at the given step, or at none. */
import { join } from 'node:path'
import { openFilesystemStore } from '../../src/pages/filesystem-store.ts'
import type { PageStore } from '../../src/pages/page-store.ts'
import { openPurging } from '../../src/purge/purging.ts'
import { thisProcess } from '../../src/lib/process-identity.ts'
import { openQueue } from '../../src/queue/records-queue.ts'
import type { Queue } from '../../src/queue/queue.ts'
import { openRecords } from '../helpers/records.ts'

export type Step = 'intended' | 'removed' | 'recording' | 'recorded' | 'releasing' | 'none'

const [directory, step] = process.argv.slice(2) as [string, Step]
const now = Date.now
const records = await openRecords({ directory: join(directory, 'data'), now })
const pages = await openFilesystemStore({
  directory: join(directory, 'cache'),
  maxSize: null,
  now,
  onWarning: () => undefined,
})

function dieAt(moment: Step): void {
  if (step === moment) process.kill(process.pid, 'SIGKILL')
}

const dying: PageStore = new Proxy(pages, {
  get(target, name) {
    if (name === 'removeTogether') {
      return async (...given: Parameters<PageStore['removeTogether']>) => {
        dieAt('intended')
        const removed = await target.removeTogether(...given)
        dieAt('removed')
        return removed
      }
    }
    if (name === 'release') dieAt('releasing')
    const value = target[name as keyof PageStore] as unknown
    return typeof value === 'function' ? (value.bind(target) as unknown) : value
  },
})
const real = openQueue(records, now)
const queue: Pick<Queue, 'dispatch'> = {
  async dispatch(...given) {
    const added = await real.dispatch(...given)
    dieAt('recording')
    return added
  },
}
const purging = await openPurging({
  records,
  pages: dying,
  queue,
  now,
  proxies: ['varnish-1'],
  owner: thisProcess(),
  followUp: null,
  budget: null,
  clearDirectory: () => Promise.resolve(0),
})
const invalidated = await purging.invalidate({
  targets: [{ scope: 'tags', tags: ['t'] }],
  soft: false,
  source: 'cli',
  actor: null,
})
dieAt('recorded')
process.send!(invalidated)
await purging.close()
await pages.close()
await records.close()
process.disconnect()
