import { remembering } from '../lib/remembering.ts'
import type { HeaderPair } from '../pages/page.ts'
import { withoutSession } from './session-cookie.ts'

/** The combined value of all lines of a field (RFC 9110 §5.3); null when the field is absent. */
export function fieldValue(headers: readonly HeaderPair[], name: string): string | null {
  let value: string | null = null
  for (const pair of headers) if (isNamed(pair, name)) value = value === null ? pair[1] : `${value}, ${pair[1]}`
  return value
}

/** The separate lines of a field. */
export function fieldLines(headers: readonly HeaderPair[], name: string): string[] {
  return headers.filter((pair) => isNamed(pair, name)).map((pair) => pair[1])
}

export function hasField(headers: readonly HeaderPair[], name: string): boolean {
  for (const pair of headers) if (isNamed(pair, name)) return true
  return false
}

/** Most names differ in length, which is cheaper to compare. */
function isNamed(pair: HeaderPair, name: string): boolean {
  return pair[0].length === name.length && pair[0].toLowerCase() === name
}

const lowerName = remembering((name) => name.toLowerCase())

/** Names of fields, in lower case. */
export class FieldNames extends Set<string> {
  /** A bit for each length that a name has, modulo 32: most other names differ in it, which is cheaper to find than the name. */
  #lengths = 0

  constructor(names: Iterable<string>) {
    super()
    for (const name of names) this.add(name)
  }

  override add(name: string): this {
    this.#lengths |= 1 << name.length
    return super.add(name)
  }

  /** Whether a field has one of the names, in any case. */
  cover(name: string): boolean {
    return (this.#lengths & (1 << name.length)) !== 0 && this.has(lowerName(name))
  }
}

export function withoutFields(headers: readonly HeaderPair[], names: FieldNames): HeaderPair[] {
  return headers.filter((pair) => !names.cover(pair[0]))
}

/**
 * Strips spaces and tabs from both ends. `trim` strips more characters than HTTP does, so that the shop would see
 * another value. A regular expression would take quadratic time on a value with many inner spaces.
 */
export function trimBlanks(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

/** The elements of a comma-separated list (RFC 9110 §5.6.1), in lower case, without empty ones. */
export function listElements(value: string | null): string[] {
  if (value === null) return []
  return value
    .split(',')
    .map((element) => trimBlanks(element).toLowerCase())
    .filter((element) => element !== '')
}

/** Converts Node's flat `rawHeaders` to pairs. */
export function toPairs(raw: readonly string[]): HeaderPair[] {
  const pairs: HeaderPair[] = []
  for (let index = 0; index + 1 < raw.length; index += 2) pairs.push([raw[index]!, raw[index + 1]!])
  return pairs
}

/** Hop-by-hop fields (RFC 9110 §7.6.1), in addition to those that `Connection` names. */
const hopByHop = new FieldNames([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** The fields without those of the connection. */
export function endToEnd(headers: readonly HeaderPair[]): HeaderPair[] {
  return withoutFields(headers, connectionFields(headers))
}

export function connectionFields(headers: readonly HeaderPair[]): FieldNames {
  const value = fieldValue(headers, 'connection')
  return value === null ? hopByHop : fieldsOfConnection(value)
}

/** By the value of `Connection`, which clients and shops repeat. */
const fieldsOfConnection = remembering((value) => {
  const others = listElements(value).filter((name) => !hopByHop.has(name))
  return others.length === 0 ? hopByHop : new FieldNames([...hopByHop, ...others])
})

/**
 * The Cookie field of a request for the shop, several lines joined (RFC 9113 §8.2.3), without a login of the admin page; null when there is
 * none.
 */
export function cookieHeader(headers: readonly HeaderPair[]): string | null {
  const lines = fieldLines(headers, 'cookie')
  return lines.length === 0 ? null : withoutSession(lines.join('; '))
}

/** The cookies of a request in order. The first of several with the same name counts. */
export function parseCookies(header: string | null): Map<string, string> {
  const cookies = new Map<string, string>()
  if (header === null) return cookies
  for (const part of header.split(';')) {
    const equals = part.indexOf('=')
    const name = trimBlanks(equals < 0 ? part : part.slice(0, equals))
    if (name !== '' && !cookies.has(name)) cookies.set(name, equals < 0 ? '' : trimBlanks(part.slice(equals + 1)))
  }
  return cookies
}
