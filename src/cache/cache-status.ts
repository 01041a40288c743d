import type { MemoryEntry } from '../pages/memory-tier.ts'
import { cacheName } from './forward.ts'

/** How the cache handled a request (RFC 9211 §2). */
export type CacheStatus =
  | { kind: 'hit'; ttl?: number; detail?: string }
  | {
      kind: 'forward'
      why: 'bypass' | 'method' | 'uri-miss' | 'vary-miss' | 'miss' | 'stale' | 'partial'
      status?: number
      stored?: boolean
      collapsed?: boolean
      detail?: string
    }

/** Adds that a fragment of an assembled page is stale, what the page lacks, and the lifetime that its fragments leave it. */
export function noted(status: CacheStatus, { page, assembly }: MemoryEntry, now: number): CacheStatus {
  if (assembly === undefined) return status
  const isStale = assembly.parts.some((part) => !part.noCache && part.staleAt <= now)
  const stale = status.kind === 'hit' && status.detail === undefined && isStale ? 'stale fragment' : null
  const details = [status.detail, stale, assembly.note].filter((detail) => typeof detail === 'string')
  return {
    ...status,
    ...(status.kind === 'hit' && { ttl: (page.staleAt - now) / 1000 }),
    ...(details.length > 0 && { detail: details.join(', ') }),
  }
}

/** Formats the value of the Cache-Status field. */
export function formatCacheStatus(status: CacheStatus): string {
  const parts = [cacheName]
  if (status.kind === 'hit') {
    parts.push('hit')
    if (status.ttl !== undefined) parts.push(`ttl=${Math.floor(status.ttl)}`)
  } else {
    parts.push(`fwd=${status.why}`)
    if (status.status !== undefined) parts.push(`fwd-status=${status.status}`)
    if (status.stored) parts.push('stored')
    if (status.collapsed) parts.push('collapsed')
  }
  if (status.detail !== undefined) parts.push(`detail="${status.detail.replace(/[^\x20-\x7e]|["\\]/g, '')}"`)
  return parts.join('; ')
}
