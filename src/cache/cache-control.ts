import { parseDictionary, Token, type BareItem, type Dictionary } from 'structured-headers'
import type { HeaderPair } from '../pages/page.ts'
import { remembering } from '../lib/remembering.ts'
import { fieldValue } from './fields.ts'

/**
 * A response's cache directives as a shared cache reads them (RFC 9111 §5.2.2, RFC 5861, RFC 9213). Times in seconds.
 */
export interface Directives {
  /** Whether the response has any directive. */
  present: boolean
  public: boolean
  private: boolean
  noStore: boolean
  noCache: boolean
  /** Fields named by `no-cache="…"`, which are not stored. */
  unstoredFields: readonly string[]
  mustRevalidate: boolean
  proxyRevalidate: boolean
  mustUnderstand: boolean
  noTransform: boolean
  maxAge: number | null
  sMaxage: number | null
  staleWhileRevalidate: number
  staleIfError: number
  /** Whether they come from a targeted field, which replaces Cache-Control and Expires (RFC 9213 §2.1). */
  targeted: boolean
}

/** Upper bound of a delta-seconds value (RFC 9111 §1.2.2). */
const longest = 2 ** 31

/** The directives that apply to this cache: those of CDN-Cache-Control where it is valid, else Cache-Control. */
export function directivesOf(headers: readonly HeaderPair[]): Readonly<Directives> {
  const targeted = fieldValue(headers, 'cdn-cache-control')
  const directives = targeted === null ? null : toTargeted(targeted)
  return directives ?? toDirectives(fieldValue(headers, 'cache-control') ?? '')
}

const toDirectives = remembering((field) => interpret(parseDirectives(field)))

/** Null where the field is malformed or empty. */
const toTargeted = remembering((field): Readonly<Directives> | null => {
  const elements = targetedDirectives(field)
  return elements.length === 0 ? null : { ...interpret(elements), targeted: true }
})

/** The directives of a targeted field (a Dictionary of RFC 9651); none when it is malformed, so that it is ignored. */
function targetedDirectives(field: string): Element[] {
  let members: Dictionary
  try {
    members = parseDictionary(field)
  } catch {
    return []
  }
  return [...members]
    .filter(([, [value]]) => value !== false)
    .map(([name, [value]]) => ({ name, value: Array.isArray(value) ? null : toArgument(value) }))
}

/** Times in a targeted field must be Integers (RFC 9213 §2.1): digits in a String stay quoted and do not count as a time. */
function toArgument(value: BareItem): string | null {
  if (typeof value === 'number') return String(value)
  if (value instanceof Token) return value.toString()
  if (typeof value !== 'string') return null
  return /^\d+$/.test(value) ? `"${value}"` : value
}

interface Element {
  name: string
  value: string | null
}

const element = /^([!#$%&'*+\-.^_`|~0-9a-z]+)(?:=(?:([!#$%&'*+\-.^_`|~0-9a-z/:@]+)|"((?:[^"\\]|\\.)*)"))?$/i
const forbidding = /no-store|private|no-cache/gi

/** Splits a Cache-Control value. Every restrictive word in a malformed element counts: the cautious reading wins. */
export function parseDirectives(value: string | null): Element[] {
  if (value === null) return []
  const elements: Element[] = []
  for (const text of splitOutsideQuotes(value)) {
    const match = element.exec(text)
    if (match) {
      elements.push({ name: match[1]!.toLowerCase(), value: match[2] ?? match[3]?.replace(/\\(.)/g, '$1') ?? null })
      continue
    }
    const name = /^[^=\s]+/.exec(text)?.[0].toLowerCase()
    if (name !== undefined) elements.push({ name, value: '' })
    for (const word of text.match(forbidding) ?? []) elements.push({ name: word.toLowerCase(), value: null })
  }
  return elements
}

function splitOutsideQuotes(value: string): string[] {
  const parts: string[] = []
  let start = 0
  let quoted = false
  for (let index = 0; index < value.length; index++) {
    const char = value[index]
    if (quoted && char === '\\') index++
    else if (char === '"') quoted = !quoted
    else if (char === ',' && !quoted) {
      parts.push(value.slice(start, index))
      start = index + 1
    }
  }
  parts.push(value.slice(start))
  return parts.map((part) => part.trim()).filter((part) => part !== '')
}

/** Parses delta-seconds. An invalid value makes the response stale at once (RFC 9111 §4.2.1). */
function toSpan(value: string | null): number {
  if (value === null || !/^\d+$/.test(value)) return 0
  return Math.min(Number(value), longest)
}

function interpret(elements: readonly Element[]): Directives {
  const has = (name: string) => elements.some((each) => each.name === name)
  // Of repeated directives that disagree, the shortest time wins.
  const span = (name: string) => {
    const spans = elements.filter((each) => each.name === name).map((each) => toSpan(each.value))
    return spans.length === 0 ? null : Math.min(...spans)
  }
  const noCache = elements.filter((each) => each.name === 'no-cache')
  return {
    present: elements.length > 0,
    public: has('public'),
    private: has('private'),
    noStore: has('no-store'),
    noCache: noCache.some((each) => each.value === null || each.value.trim() === ''),
    unstoredFields: noCache
      .flatMap((each) => (each.value ?? '').split(',').map((name) => name.trim().toLowerCase()))
      .filter((name) => name !== ''),
    mustRevalidate: has('must-revalidate'),
    proxyRevalidate: has('proxy-revalidate'),
    mustUnderstand: has('must-understand'),
    noTransform: has('no-transform'),
    maxAge: span('max-age'),
    sMaxage: span('s-maxage'),
    staleWhileRevalidate: span('stale-while-revalidate') ?? 0,
    staleIfError: span('stale-if-error') ?? 0,
    targeted: false,
  }
}

/**
 * The request directives that this cache obeys. The others (`no-cache`, `max-age`, …) are advisory (RFC 9111 §5.2.1)
 * and ignored: a reload in a browser must not reach the shop.
 */
export function requestDirectives(headers: readonly HeaderPair[]): { noStore: boolean; onlyIfCached: boolean } {
  const elements = parseDirectives(fieldValue(headers, 'cache-control'))
  return {
    noStore: elements.some((each) => each.name === 'no-store'),
    onlyIfCached: elements.some((each) => each.name === 'only-if-cached'),
  }
}
