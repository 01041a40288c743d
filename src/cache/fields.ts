import type { HeaderPair } from '../pages/page.ts'

/** All values of a field, lines combined as RFC 9110 §5.3 does; null where the field is absent. */
export function fieldValue(headers: readonly HeaderPair[], name: string): string | null {
  let value: string | null = null
  for (const [key, line] of headers) {
    if (key.length === name.length && key.toLowerCase() === name) value = value === null ? line : `${value}, ${line}`
  }
  return value
}

/** The lines of a field, one by one. */
export function fieldLines(headers: readonly HeaderPair[], name: string): string[] {
  return headers.filter(([key]) => key.length === name.length && key.toLowerCase() === name).map(([, line]) => line)
}

export function hasField(headers: readonly HeaderPair[], name: string): boolean {
  return headers.some(([key]) => key.length === name.length && key.toLowerCase() === name)
}

export function withoutFields(headers: readonly HeaderPair[], names: ReadonlySet<string>): HeaderPair[] {
  return headers.filter(([key]) => !names.has(key.toLowerCase()))
}

/**
 * Strips spaces and tabs from both ends. `trim` strips more than HTTP does: the shop would see another value than we do. A regular
 * expression would take quadratic time where a visitor sends many spaces inside a value.
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

/** Elements of a comma-separated list (RFC 9110 §5.6.1), lower-cased, empty ones left out. */
export function listElements(value: string | null): string[] {
  if (value === null) return []
  return value
    .split(',')
    .map((element) => trimBlanks(element).toLowerCase())
    .filter((element) => element !== '')
}

/** Node's flat `rawHeaders` as pairs. */
export function toPairs(raw: readonly string[]): HeaderPair[] {
  const pairs: HeaderPair[] = []
  for (let index = 0; index + 1 < raw.length; index += 2) pairs.push([raw[index]!, raw[index + 1]!])
  return pairs
}

/** Fields of one connection only (RFC 9110 §7.6.1); the ones that `Connection` names come on top. */
const hopByHop = [
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
]

export function connectionFields(headers: readonly HeaderPair[]): Set<string> {
  return new Set([...hopByHop, ...listElements(fieldValue(headers, 'connection'))])
}

/** The Cookie field of a request; several lines are one list (RFC 9113 §8.2.3). Null where there is none. */
export function cookieHeader(headers: readonly HeaderPair[]): string | null {
  const lines = fieldLines(headers, 'cookie')
  return lines.length === 0 ? null : lines.join('; ')
}

/** Cookies of a request, in order; the first of a name counts. */
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
