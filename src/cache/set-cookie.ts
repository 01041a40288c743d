import { parseHttpDate } from '../lib/http-date.ts'
import type { HeaderPair } from '../pages/page.ts'
import { fieldLines, FieldNames, trimBlanks, withoutFields } from './fields.ts'

/**
 * The cookies that a response sets, by name: the value as a browser will send it, null for a deleted cookie. The last
 * line of a name counts (RFC 6265 §5.3).
 *
 * @param now milliseconds since the epoch
 */
export function cookieChanges(headers: readonly HeaderPair[], now: number): ReadonlyMap<string, string | null> {
  const lines = fieldLines(headers, 'set-cookie')
  if (lines.length === 0) return noChanges
  const changes = new Map<string, string | null>()
  for (const line of lines) {
    const [pair = '', ...attributes] = line.split(';')
    const equals = pair.indexOf('=')
    if (equals < 0) continue
    changes.set(
      trimBlanks(pair.slice(0, equals)),
      isExpired(attributes, now) ? null : trimBlanks(pair.slice(equals + 1)),
    )
  }
  return changes
}

const noChanges: ReadonlyMap<string, null> = new Map()

/** Max-Age overrides Expires (RFC 6265 §5.3). The last occurrence of each counts. */
function isExpired(attributes: readonly string[], now: number): boolean {
  let [maxAge, expires]: [number | null, number | null] = [null, null]
  for (const attribute of attributes) {
    const equals = attribute.indexOf('=')
    if (equals < 0) continue
    const name = trimBlanks(attribute.slice(0, equals)).toLowerCase()
    const value = trimBlanks(attribute.slice(equals + 1))
    if (name === 'max-age' && /^-?\d+$/.test(value)) maxAge = Number(value)
    // Old frameworks write "Thu, 01-Jan-1970 00:00:01 GMT".
    if (name === 'expires') expires = parseHttpDate(value.replace(/(\d)-(\w{3})-(\d)/, '$1 $2 $3'), now) ?? expires
  }
  if (maxAge !== null) return maxAge <= 0
  return expires !== null && expires <= now
}

/**
 * The Set-Cookie fields of a page and its fragments, the page first. The shop may start a session in each of their responses, because none of
 * the requests had one. The first response that sets a cookie wins, but a response that only repeats the visitor's own cookie, to extend
 * its lifetime, yields to one that changes it.
 *
 * @param sent the cookies of the visitor
 */
export function mergedCookies(
  responses: readonly (readonly HeaderPair[])[],
  sent: ReadonlyMap<string, string>,
): HeaderPair[] {
  const changes = responses.map((cookies) => changedNames(cookies, sent))
  const merged: HeaderPair[] = []
  const known = new Set<string>()
  for (const [at, cookies] of responses.entries()) {
    const counting = cookies.filter(([, line]) => {
      const name = cookieName(line)
      return changes[at]!.has(name) || !changes.some((names) => names.has(name))
    })
    merged.push(...counting.filter(([, line]) => !known.has(cookieName(line))))
    for (const [, line] of counting) known.add(cookieName(line))
  }
  return merged
}

/** The cookies that a response changes. If a name occurs in several lines, the last one counts. */
function changedNames(cookies: readonly HeaderPair[], sent: ReadonlyMap<string, string>): Set<string> {
  const values = new Map(cookies.map(([, line]) => [cookieName(line), cookieValue(line)]))
  return new Set([...values.keys()].filter((name) => values.get(name) !== sent.get(name)))
}

function cookieName(line: string): string {
  return trimBlanks(line.split(/[=;]/, 1)[0]!)
}

function cookieValue(line: string): string {
  const [pair = ''] = line.split(';', 1)
  return trimBlanks(pair.slice(pair.indexOf('=') + 1))
}

/** The Set-Cookie fields among the fields of a response. */
export function setCookieFields(headers: readonly HeaderPair[]): HeaderPair[] {
  return headers.filter(([name]) => name.toLowerCase() === 'set-cookie')
}

const cookieFields = new FieldNames(['set-cookie', 'set-cookie2'])

/**
 * The fields of a response to a request without cookies, for a visitor who may have some: the shop takes the visitor for a new one and
 * may start another session.
 */
export function withoutSetCookie(headers: readonly HeaderPair[]): HeaderPair[] {
  return withoutFields(headers, cookieFields)
}
