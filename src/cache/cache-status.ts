import { cacheName } from './forward.ts'

/** How the cache handled a request (RFC 9211 §2). */
export type CacheStatus =
  | { kind: 'hit'; ttl: number; detail?: string }
  | {
      kind: 'forward'
      why: 'bypass' | 'method' | 'uri-miss' | 'vary-miss' | 'miss' | 'stale' | 'partial'
      status?: number
      stored?: boolean
      collapsed?: boolean
      detail?: string
    }

/** Formats the value of the Cache-Status field. */
export function formatCacheStatus(outcome: CacheStatus): string {
  const parts = [cacheName]
  if (outcome.kind === 'hit') parts.push('hit', `ttl=${Math.floor(outcome.ttl)}`)
  else {
    parts.push(`fwd=${outcome.why}`)
    if (outcome.status !== undefined) parts.push(`fwd-status=${outcome.status}`)
    if (outcome.stored) parts.push('stored')
    if (outcome.collapsed) parts.push('collapsed')
  }
  if (outcome.detail !== undefined) parts.push(`detail="${outcome.detail.replace(/[^\x20-\x7e]|["\\]/g, '')}"`)
  return parts.join('; ')
}
