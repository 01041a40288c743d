import type { IncomingMessage } from 'node:http'
import type { Judge } from '../../auth/judgement.ts'
import type { VisitDescription } from '../../cache/describe-visit.ts'
import { FieldNames, fieldValue, toPairs, withoutFields } from '../../cache/fields.ts'
import type { CacheAnswer, Visit } from '../../cache/visit.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { authenticate } from '../api/caller.ts'
import type { PurgeMethods } from '../purge/methods.ts'
import type { Accepted } from './guard.ts'

/** What answers `X-Pagecache-Debug`. */
export interface Debugging {
  /** Judges bearer tokens; opened with the first request that needs it. */
  judge(): Promise<Judge>
  describe(visit: Visit, tags: readonly string[] | undefined): VisitDescription
  /** The last purge of a URL in words; null without one. */
  lastPurge(url: string): Promise<string | null>
}

interface DebugOptions {
  debugging: Debugging
  purges: PurgeMethods
  isTrusted(address: string | undefined): boolean
}

/** Who asks for the debug fields: a purger by the address, or a client of the API by its token, which is not for the shop. */
export type Debugger = 'purger' | 'client'

/** Whether a request asks for the debug fields; its client may not be allowed to see them. */
export function wantsDebug({ headers }: IncomingMessage): boolean {
  return headers['x-pagecache-debug'] === '1'
}

/** Who asks for the debug fields; null for everyone who may not see them. */
export async function findDebugger(
  request: IncomingMessage,
  accepted: Accepted,
  { debugging: { judge }, purges, isTrusted }: DebugOptions,
): Promise<Debugger | null> {
  const { remoteAddress } = request.socket
  if (purges.mayPurge(toPairs(request.rawHeaders), remoteAddress)) return 'purger'
  if (request.headers.authorization === undefined) return null
  const caller = await authenticate({ request, accepted }, { judge, isTrusted })
  return 'scopes' in caller && caller.scopes.includes('read') ? 'client' : null
}

/** The visit as a visitor would make it: the token is for the daemon. */
export function asVisitor<V extends Visit>(visit: V, who: Debugger): V {
  return who === 'purger'
    ? visit
    : { ...visit, headers: withoutFields(visit.headers, new FieldNames(['authorization'])) }
}

/** Fields that would let a cache in front of this one store the answer. */
const storing = new FieldNames(['cache-control', 'cdn-cache-control', 'surrogate-control', 'expires'])

/** An answer with the debug fields, which no cache may store. */
export async function withDebug(answer: CacheAnswer, visit: Visit, debugging: Debugging): Promise<CacheAnswer> {
  const { url, tags, ...texts } = debugging.describe(visit, answer.tags)
  const fields: [string, string | null | undefined][] = [
    ['URL', url],
    ['Key', texts.key],
    ['Variants', texts.variants],
    ['Tags', tags?.join(' ')],
    ['Type', texts.type],
    ['Rule', texts.rule],
    ['Lifetime', texts.lifetime],
    [
      'Fragments',
      answer.source?.assembly?.parts
        .slice(1)
        .map((part) => part.url)
        .join(' '),
    ],
    ['Last-Purge', url === null ? null : await debugging.lastPurge(url)],
    ['Cache-Control', fieldValue(answer.headers, 'cache-control')],
  ]
  const shown = fields
    .filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(([name, value]): HeaderPair => [`X-Pagecache-Debug-${name}`, toFieldValue(value!)])
  return {
    ...answer,
    headers: [...withoutFields(answer.headers, storing), ['Cache-Control', 'private, no-store'], ...shown],
  }
}

/** Bytes of a debug field: proxies in front accept 8 KiB for all fields. */
const longest = 1000

/** Text as a field value: printable ASCII, and shortened. */
function toFieldValue(text: string): string {
  const safe = text
    .replaceAll('\n', '; ')
    .replace(/[^\x20-\x7e]/g, (character) => encodeURIComponent(character.toWellFormed()))
  return safe.length <= longest ? safe : `${safe.slice(0, longest - 20)}... (${safe.length} bytes)`
}
