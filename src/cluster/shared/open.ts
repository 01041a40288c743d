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
  /** Null: no page is shared with visitors. */
  clock: PurgeClock | null
  now: Clock
  records(): Promise<Pick<Records, 'db'>>
  onWarning(message: string): void
}

const noClock: PurgeClock = { now: () => null, admits: () => Promise.resolve(false) }

/** Opens the pages that all nodes share. Connects in the background, as often as needed. */
export function openSharedPages({ records, onWarning, clock, ...options }: OpenSharedPages): SharedPages {
  return new SharedPages({
    ...options,
    clock: clock ?? noClock,
    secret: async () => sharedSecret((await records()).db),
    onChange: (message) => onWarning(`Shared pages: ${message}.`),
  })
}
