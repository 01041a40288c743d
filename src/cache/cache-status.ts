import { proxyName } from './forward.ts'

/** How an answer came about (RFC 9211 §2). */
export type Outcome =
  | { kind: 'hit'; ttl: number; detail?: string }
  | {
      kind: 'forward'
      why: 'bypass' | 'method' | 'uri-miss' | 'vary-miss' | 'miss' | 'stale' | 'partial'
      status?: number
      stored?: boolean
      collapsed?: boolean
      detail?: string
    }

/** The value of Cache-Status for an answer. */
export function cacheStatus(outcome: Outcome): string {
  const parts = [proxyName]
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
