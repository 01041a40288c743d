import type { Clock } from '../../lib/clock.ts'
import type { Records } from '../../records/records.ts'
import type { PurgeClock } from '../clock.ts'
import { sharedSecret } from './secret.ts'
import { SharedPages } from './shared-pages.ts'

export interface OpenSharedPages {
  /** Of Redis or Valkey. */
  url: string
  /** The longest that a page is shared, in milliseconds. */
  maxAge: number
  /** The most variants of one URL. */
  maxVariants: number
  clock: PurgeClock
  now: Clock
  records(): Promise<Pick<Records, 'db'>>
  onWarning(message: string): void
}

/** Opens the pages that all nodes share. Connects in the background, as often as needed. */
export function openSharedPages({ records, onWarning, ...options }: OpenSharedPages): SharedPages {
  return new SharedPages({
    ...options,
    secret: async () => sharedSecret((await records()).db),
    onChange: (message) => onWarning(`Shared pages: ${message}.`),
  })
}
