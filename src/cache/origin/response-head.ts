import { remembering } from '../../lib/remembering.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { listElements, trimBlanks } from '../fields.ts'

/** How the body of a response ends: after a number of bytes, or with its last chunk. */
type Framing = number | 'chunked'

export interface PlainHead {
  status: number
  headers: HeaderPair[]
  /** The body that follows; 0 for none. */
  framing: Framing
  /** Milliseconds for which the connection may be kept afterwards; null when the shop says nothing, 0 for not at all. */
  keep: number | null
}

/**
 * Status line and fields as every HTTP implementation reads them. Each repetition ends at a character that it cannot
 * contain, so matching takes linear time.
 */
const grammar =
  /^HTTP\/1\.1 [1-5]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?\r\n(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n$/

/** A connection is given up this long before the shop says that it will close it, in milliseconds. */
const safety = 2000
/** The longest that a connection is kept, whatever the shop says, in milliseconds. */
const longestKept = 60_000

/**
 * Reads a response head. Null for everything that is not plain: it is left to undici, as it came.
 *
 * @param text the head in Latin-1, up to and including the empty line
 */
export function parseHead(text: string, method: string): PlainHead | null {
  if (!grammar.test(text)) return null
  const status = Number(text.slice(9, 12))
  const headers: HeaderPair[] = []
  let length: string | null = null
  let coding: string | null = null
  let connection = ''
  let hint = ''
  for (let at = text.indexOf('\r\n') + 2, last = text.length - 2; at < last;) {
    const end = text.indexOf('\r\n', at)
    const line = text.slice(at, end)
    const pair = toPair(line)
    const [name, value] = pair
    headers.push(pair)
    at = end + 2
    const known = framingNames.get(name.length)
    if (known === undefined) continue
    const lower = name.toLowerCase()
    if (!known.includes(lower)) continue
    if (lower === 'connection') connection += `,${value}`
    else if (lower === 'keep-alive') hint += `,${value}`
    else if (lower === 'content-length' && length === null) length = value
    else if (lower === 'transfer-encoding' && coding === null) coding = value
    // Named twice.
    else return null
  }
  const framing = framingOf(status, method, length, coding)
  if (framing === null) return null
  const keep = mayGoOn(method, framing, { length, coding }) ? 0 : keepOf(connection, hint)
  return { status, headers, framing, keep }
}

/** Stored pages share the fields that they have in common, and the names of all. */
const toPair = remembering((line): HeaderPair => {
  const colon = line.indexOf(':')
  return [toName(line.slice(0, colon)), trimBlanks(line.slice(colon + 1))]
})

const toName = remembering((name) => name)

const framingNames = Map.groupBy(
  ['connection', 'keep-alive', 'content-length', 'transfer-encoding'],
  (name) => name.length,
)

function framingOf(status: number, method: string, length: string | null, coding: string | null): Framing | null {
  if (status === 101) return null
  if (length !== null && (coding !== null || !/^\d{1,15}$/.test(length))) return null
  if (coding !== null && coding.toLowerCase() !== 'chunked') return null
  if (status < 200 || status === 204 || status === 304 || method === 'HEAD') return 0
  if (coding !== null) return 'chunked'
  // Without either, the body ends with the connection.
  return length === null ? null : Number(length)
}

/**
 * Whether the shop may send a body where there can be none, which would be taken for the next response: it announces one, or it does not say
 * how long that of a GET would be. undici too uses no connection again after such a HEAD.
 */
function mayGoOn(
  method: string,
  framing: Framing,
  { length, coding }: { length: string | null; coding: string | null },
): boolean {
  const isSilent = method === 'HEAD' && length === null
  return framing === 0 && (isSilent || coding !== null || Number(length ?? 0) > 0)
}

function keepOf(connection: string, hint: string): number | null {
  if (connection !== '' && listElements(connection).includes('close')) return 0
  const seconds = hint === '' ? undefined : /(?:^|[,;\s])timeout\s*=\s*"?(\d{1,6})/i.exec(hint)?.[1]
  return seconds === undefined ? null : Math.min(Math.max(0, Number(seconds) * 1000 - safety), longestKept)
}
