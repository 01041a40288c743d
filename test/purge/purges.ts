import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { clearApplicationCache } from '../../src/pages/filesystem-store.ts'
import type { PageStore } from '../../src/pages/page-store.ts'
import type { PurgeBudget } from '../../src/purge/intent.ts'
import { openPurging } from '../../src/purge/purging.ts'
import { thisProcess } from '../../src/lib/process-identity.ts'
import type { Queue } from '../../src/queue/queue.ts'
import { openQueue } from '../../src/queue/records-queue.ts'
import { openRecords } from '../helpers/records.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { aMoment, openPages } from '../stores/pages.ts'

/** Opens purges with a real page store and real records in a temporary directory, closed after the test. */
export async function openPurges(
  options: {
    proxies?: readonly string[]
    directory?: string
    places?: { cache: string; data: string }
    now?: () => number
    queue?: Pick<Queue, 'dispatch'>
    budget?: PurgeBudget
    /** Stands in for the page store. */
    wrap?: (pages: PageStore) => PageStore
  } = {},
) {
  const directory = options.directory ?? (await tempDir())
  const { cache, data } = options.places ?? { cache: join(directory, 'cache'), data: join(directory, 'data') }
  const now = options.now ?? (() => aMoment)
  const { pages } = await openPages({ directory: cache, now })
  const records = await openRecords({ directory: data, now })
  onTestFinished(() => records.close())
  const purging = await openPurging({
    records,
    pages: options.wrap?.(pages) ?? pages,
    queue: options.queue ?? openQueue(records, now),
    now,
    owner: thisProcess(),
    proxies: options.proxies ?? [],
    followUp: null,
    budget: options.budget ?? null,
    clearDirectory: (trace) => clearApplicationCache(cache, trace),
  })
  onTestFinished(() => purging.close())
  return { purging, pages, records, directory }
}
