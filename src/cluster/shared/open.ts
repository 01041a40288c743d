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
}

/** Opens the pages that all nodes share. Connects in the background, as often as needed. */
export function openSharedPages(
  host: SharedPagesHost,
  clock: PurgeClock,
  onWarning: (message: string) => void,
): SharedPages {
  const { shared, maxVariants } = host.config.cache
  return new SharedPages({
    url: shared.url!,
    maxAge: shared.maxAge,
    maxVariants,
    clock,
    now: host.now,
    secret: async () => sharedSecret((await host.records()).db),
    onChange: (message) => onWarning(`Shared pages: ${message}.`),
  })
}
