import type { Given } from '../../../operations/operation.ts'
import { trafficTypes, visitorResults, type liveTraffic } from '../../../operations/traffic-live.ts'
import { alternatives, wordsOf } from '../../filter.ts'

/** Which requests the daemon shows. */
export type LiveInput = Given<typeof liveTraffic.input>

/**
 * Adds a typed filter to that of the command, so that the daemon samples only requests that the screen shows: words that are results or page
 * types (`miss`, `hit|stale`), and the beginning of a path (`/checkout`). The screen applies all other words itself.
 */
export function withFilter(base: LiveInput, filter: string): LiveInput {
  const input: LiveInput = { ...base }
  for (const word of wordsOf(filter)) {
    const names = alternatives(word)
    if (word.startsWith('/') && names.length === 1) input.path ??= asciiStart(word).slice(0, longestPath)
    else if (areAll(names, visitorResults)) input.result ??= names
    else if (areAll(names, trafficTypes)) input.type ??= names
  }
  return input
}

/** What precedes letters outside ASCII: the screen shows them decoded, and the daemon has them as the visitor sent them. */
function asciiStart(path: string): string {
  return /^[\u0000-\u007f]*/.exec(path)![0]
}

/** Characters of a path that the daemon accepts. */
const longestPath = 200

function areAll<Name extends string>(words: readonly string[], names: readonly Name[]): words is Name[] {
  return words.every((word) => (names as readonly string[]).includes(word))
}
