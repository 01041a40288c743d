import type { Clock } from '../../lib/clock.ts'
import type { Records } from '../../records/records.ts'
import type { PurgeClock } from '../clock.ts'
import { sharedSecret } from './secret.ts'
import { SharedPages } from './shared-pages.ts'

/** What the shared pages need of the program around them. */
export interface SharedPagesHost {
  config: { cache: { shared: { url: string | null; maxAge: number }; maxVariants: number } }
  now: Clock
  records(): Promise<Pick<Records, 'db'>>
  /** Whether this process serves visitors. */
  usesThreads: boolean
}

/** Opens the pages that all nodes share. Connects and reconnects in the background. A worker awaits the first attempt, so that all its pages are shared. */
export async function openSharedPages(
  host: SharedPagesHost,
  clock: PurgeClock,
  onWarning: (message: string) => void,
): Promise<SharedPages> {
  const { shared, maxVariants } = host.config.cache
  const pages = new SharedPages({
    url: shared.url!,
    maxAge: shared.maxAge,
    maxVariants,
    clock,
    now: host.now,
    secret: async () => sharedSecret((await host.records()).db),
    onChange: (message) => onWarning(`Shared pages: ${message}.`),
  })
  if (!host.usesThreads) await pages.ready()
  return pages
}
