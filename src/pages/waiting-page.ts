import type { Page } from './page.ts'
import type { Fence, NewPage, Rejection } from './page-store.ts'

/** Bytes of a waiting page besides its body (texts, lookup tables), as measured. */
const pageOverhead = 2_048

/** A page that waits to be stored. Its negative id becomes the id of its row. */
export interface Waiting extends NewPage {
  page: Page
  /** The last removal that is known not to select it. */
  checked: Fence
  attempts: number
  promise: Promise<Page | Rejection>
  resolve(outcome: Page | Rejection): void
}

/** What a waiting page occupies, in bytes. */
export function sizeOf({ body }: NewPage): number {
  return body.length + pageOverhead
}
