/** A request target in canonical form, used in the cache key and at the origin. */
export interface Target {
  path: string
  /** With its lookup mark; empty when there is no query. */
  query: string
}

export type Canonicaliser = (raw: string) => Target

/** Matches a path that is canonical already. */
const plain = /^(?:\/[\w\-~!$&'()*+,;=:@][\w\-.~!$&'()*+,;=:@]*)*\/?$/

/**
 * Canonicalises request targets (docs/caching.md): removes dot segments, decodes escaped unreserved characters, writes
 * other escapes in upper case, escapes characters that a URL cannot contain, sorts parameters by name (keeping the
 * order of equal names), and removes ignored and empty parameters.
 */
export function canonicaliser(ignored: readonly string[]): Canonicaliser {
  const names = new Set(ignored.filter((name) => !name.endsWith('*')))
  const prefixes = ignored.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1))
  const isIgnored = (name: string) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix))
  return (raw) => {
    if (plain.test(raw)) return { path: raw, query: '' }
    const mark = raw.indexOf('?')
    return { path: canonicalPath(raw), query: mark < 0 ? '' : canonicalQuery(raw.slice(mark + 1), isIgnored) }
  }
}

/** The path of a request target in canonical form. */
export function canonicalPath(target: string): string {
  const path = target.split('?', 1)[0]!
  return plain.test(path) ? path : removeDotSegments(normaliseEscapes(path))
}

function canonicalQuery(query: string, isIgnored: (name: string) => boolean): string {
  const parameters: { name: string; text: string }[] = []
  for (const part of query.split('&')) {
    if (part === '') continue
    const text = normaliseEscapes(part)
    const equals = text.indexOf('=')
    const name = equals < 0 ? text : text.slice(0, equals)
    if (!isIgnored(unescapeName(name))) parameters.push({ name, text })
  }
  parameters.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  return parameters.length === 0 ? '' : `?${parameters.map((parameter) => parameter.text).join('&')}`
}

function unescapeName(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/**
 * Normalises escapes (RFC 3986 §6.2.2). Raw bytes arrive as Latin-1. A % that begins no escape is escaped itself,
 * because decoding the escape after it could otherwise form a new one.
 */
function normaliseEscapes(text: string): string {
  return text.replace(/%([0-9a-f]{2})|[%"<>\\^`{|}\x7f-\xff\x00-\x20]/gi, (escape, hex: string | undefined) => {
    if (hex === undefined) return `%${escape.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
    const char = String.fromCharCode(Number.parseInt(hex, 16))
    return /[\w\-.~]/.test(char) ? char : `%${hex.toUpperCase()}`
  })
}

/** Removes dot segments (RFC 3986 §5.2.4). */
export function removeDotSegments(path: string): string {
  if (!/\/\.{1,2}(?:\/|$)/.test(path)) return path
  const output: string[] = []
  const segments = path.split('/').slice(1)
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1
    if (segment === '..') output.pop()
    else if (segment !== '.') output.push(segment)
    if (last && (segment === '.' || segment === '..')) output.push('')
  }
  return `/${output.join('/')}`
}

/** Matches a path that every server reads as it is. */
const unambiguous = /^(?:\/[\w\-~!$&'()*+,=:@][\w\-.~!$&'()*+,=:@]*)*\/?$/

/**
 * The path as the most lenient server could read it: fully decoded, backslashes as slashes, path parameters removed,
 * dot segments removed, lower case. Used only to detect paths that must never be cached.
 */
export function lenientPath(path: string): string {
  if (unambiguous.test(path)) return path.toLowerCase()
  let text = path
  for (let round = 0; round < 3 && /%[0-9a-f]{2}/i.test(text); round++) {
    text = text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  }
  return removeDotSegments(
    text
      .replace(/\\/g, '/')
      .replace(/;[^/]*/g, '')
      .replace(/\/{2,}/g, '/'),
  ).toLowerCase()
}
