import type { HotRequest } from '../../cache/hot.ts'
import { fieldsThatDisqualify } from './hot-fields.ts'
import { defineGrammar, parsePlainRequest } from './plain-request.ts'

/** Exactly one GET or HEAD, without a body. */
const grammar = defineGrammar('(?:GET|HEAD)', fieldsThatDisqualify('semantics', 'framing', 'body', 'handover'), {
  body: false,
})

/** Parses a plain GET or HEAD that memory may answer; null for everything else. */
export function parseHitRequest(chunk: Buffer, trusted: boolean, mostFields: number): HotRequest | null {
  return parsePlainRequest(chunk, grammar, trusted, mostFields)
}
