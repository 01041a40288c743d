import { globMatcher } from '../../lib/glob.ts'
import type { Seen, Subject } from '../traffic.ts'

/** Which requests are shown; an absent field selects all. */
export interface LiveFilter {
  result?: readonly string[] | undefined
  type?: readonly string[] | undefined
  /** How the path begins; `*` stands for any characters. */
  path?: string | undefined
  salesChannelId?: string | undefined
}

export function toMatcher({ result, type, path, salesChannelId }: LiveFilter): (seen: Seen) => boolean {
  const matchesPath = path === undefined ? () => true : globMatcher(`${path}*`)
  const [results, types] = [result, type].map((names) => (names === undefined ? null : new Set(names)))
  return (seen) =>
    (results?.has(seen.result) ?? true) &&
    (types?.has(seen.type) ?? true) &&
    (salesChannelId === undefined || seen.salesChannelId === salesChannelId) &&
    matchesPath(seen.path)
}

/** Characters of a path that are shown. */
const longestPath = 512

/** A request that has ended now. `target`: its path and query. */
export function toSeen(
  { target, ...request }: Omit<Seen, 'at' | 'type' | 'salesChannelId' | 'path'> & { target: string },
  { channelId, type }: Subject,
): Seen {
  const path = target.split('?', 1)[0]!.slice(0, longestPath)
  // Rounded to microseconds: more says nothing.
  const ms = Math.round(request.ms * 1000) / 1000
  return { at: Date.now(), ...request, ms, type, salesChannelId: channelId, path }
}
