import { Memo } from '../../src/lib/memo.ts'
import { formatHttpDate } from '../../src/lib/http-date.ts'
import type { HeaderPair } from '../../src/pages/page.ts'
import type { Received } from '../../src/cache/freshness.ts'
import type { RequestTraits } from '../../src/cache/may-store.ts'

export const now = Date.UTC(2026, 0, 15, 12)

export const at = (seconds: number) => formatHttpDate(now + seconds * 1000)

export const received = (headers: HeaderPair[], more: Partial<Received> = {}): Received => ({
  status: 200,
  headers,
  requestedAt: now,
  receivedAt: now,
  ...more,
})

export const plainRequest: RequestTraits = {
  headers: [],
  site: 'http://shop.example',
  unkeyedCookies: null,
  odd: false,
  keyedFields: [],
  classified: [],
  states: [],
  remembered: new Memo(),
}
