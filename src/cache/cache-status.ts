import type { MemoryEntry } from '../pages/memory-entry.ts'
import type { HeaderPair } from '../pages/page.ts'
import { fieldLines } from './fields.ts'
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

/** Why a request was forwarded to the shop. */
export type ForwardReason = (CacheStatus & { kind: 'forward' })['why']

/** What the shop did for a page that the cache could not answer alone: its status, or that another visitor's fetch answered. */
export type Forwarded = Pick<CacheStatus & { kind: 'forward' }, 'status' | 'collapsed'>

/** This cache's own entry in `Cache-Status`, without those of caches between it and the shop (RFC 9211 §2); null if there is none. */
export function ownStatus(headers: readonly HeaderPair[]): string | null {
  const last = fieldLines(headers, 'cache-status').at(-1)
  return last?.startsWith(`${cacheName};`) === true ? last : null
}

/** Reads from our Cache-Status entry whether the request was forwarded to the shop; null for a response from the cache alone. */
export function forwardedBy(told: string | null): Forwarded | null {
  if (told === null || told.includes('; hit')) return null
  const status = /; fwd-status=(\d+)/.exec(told)?.[1]
  return status === undefined ? { collapsed: told.includes('; collapsed') } : { status: Number(status) }
}

/** The status of a page whose template was in the cache, but not all of its fragments. */
export function partial(status: CacheStatus, forwarded: Forwarded | null): CacheStatus {
  if (forwarded === null || status.kind !== 'hit') return status
  const { detail = 'not all fragments were cached' } = status
  return { kind: 'forward', why: 'partial', ...forwarded, detail }
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
