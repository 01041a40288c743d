import type { HotRequest } from '../../cache/hot.ts'
import { headOf, parsePlainRequest, type PlainGrammar } from './plain-request.ts'

/** One GET and nothing else. */
const grammar: PlainGrammar = {
  head: new RegExp(`${headOf('GET')}$`),
  decisive: new Map([
    [5, ['range']],
    [6, ['expect']],
    [7, ['upgrade']],
    [8, ['if-match', 'if-range']],
    [10, ['connection']],
    [13, ['authorization']],
    [14, ['content-length']],
    [16, ['x-pagecache-tags', 'x-requested-with']],
    [17, ['if-modified-since', 'transfer-encoding']],
    [19, ['if-unmodified-since']],
  ]),
}

/** A plain GET, which memory may answer; null for everything else. */
export function parseHitRequest(chunk: Buffer, trusted: boolean, mostFields: number): HotRequest | null {
  return parsePlainRequest(chunk, grammar, trusted, mostFields)
}
