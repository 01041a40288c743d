import type { HeaderPair } from '../../pages/page.ts'
import { normaliseHost } from '../../cache/channel.ts'
import { fieldLines, trimBlanks } from '../../cache/fields.ts'

/** The answer to a request that the guard rejects before anything is looked up. */
export interface Refusal {
  status: number
  text: string
  /** Additional fields. */
  headers?: HeaderPair[]
}

/** The parts of a valid request that name a page. */
export interface Accepted {
  /** Origin-form; `*` only for OPTIONS. */
  target: string
  scheme: string
  host: string
}

/** A request head as the parser delivered it. */
export interface RequestHead {
  method: string
  target: string
  /** `1.1` or `1.0`. */
  version: string
  headers: readonly HeaderPair[]
}

/** Bytes; a longer target gets 414. */
export const longestTarget = 8192
/** A request with more header fields gets 431. */
export const mostFields = 200
/** Bytes; a request with larger header fields gets 431. */
export const largestHead = 64 * 1024

export const allowedMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/**
 * Checks a request head. Rejects what Node's parser accepts but two servers could interpret differently: several Hosts, an absolute form
 * that names another site, unusual transfer codings.
 *
 * @param trusted whether the peer is a trusted proxy, whose X-Forwarded-Host and -Proto apply
 * @param scheme of the connection
 */
export function examine(
  { method, target: rawTarget, version, headers }: RequestHead,
  trusted: boolean,
  scheme = 'http',
): Accepted | Refusal {
  if (method === 'TRACE' || method === 'CONNECT')
    return { status: 405, text: `${method} is not allowed.`, headers: [['Allow', allowedMethods]] }
  if (version !== '1.1' && version !== '1.0') return { status: 505, text: 'Only HTTP/1.0 and HTTP/1.1 are supported.' }
  if (rawTarget.length > longestTarget) return { status: 414, text: `The URL is longer than ${longestTarget} bytes.` }
  if (headers.length > mostFields)
    return { status: 431, text: `The request has more than ${mostFields} header fields.` }
  if (headers.reduce((size, [name, value]) => size + name.length + value.length + 4, 0) > largestHead)
    return { status: 431, text: 'The header fields are too large.' }
  const coding = fieldLines(headers, 'transfer-encoding')
  // HTTP/1.0 has no chunked coding: a proxy that relayed this may have framed the body differently (RFC 9112 §6.1).
  if (coding.length > 1 || (coding.length === 1 && (version !== '1.1' || coding[0]!.toLowerCase() !== 'chunked')))
    return { status: 400, text: 'This Transfer-Encoding is not supported.' }
  const hosts = fieldLines(headers, 'host')
  if (hosts.length !== 1) return { status: 400, text: 'A request must have exactly one Host.' }
  const site = publicSite(hosts[0]!, headers, trusted, scheme)
  if (site === null) return { status: 400, text: 'The Host is not valid.' }
  const target = originForm(method, rawTarget, site.scheme, hosts[0]!)
  if (target === null) return { status: 400, text: 'The request target is not valid.' }
  return { target, ...site }
}

/** The scheme and host that the visitor typed; null where they are invalid. */
function publicSite(
  host: string,
  headers: readonly HeaderPair[],
  trusted: boolean,
  ownScheme: string,
): { scheme: string; host: string } | null {
  const last = (name: string) => (trusted ? trimBlanks(fieldLines(headers, name).join(',').split(',').at(-1)!) : '')
  const scheme = last('x-forwarded-proto').toLowerCase() || ownScheme
  if (scheme !== 'http' && scheme !== 'https') return null
  const own = normaliseHost(host, scheme)
  const forwarded = last('x-forwarded-host')
  const publicHost = own === null || forwarded === '' ? own : normaliseHost(forwarded, scheme)
  return publicHost === null ? null : { scheme, host: publicHost }
}

/** Converts a target to origin-form, except `*`. An absolute form must name the same site (RFC 9112 §3.2.2). Null where the target is invalid. */
function originForm(method: string, target: string, scheme: string, host: string): string | null {
  // Clients never send fragments. The parser already rejects most control characters and spaces.
  if (target.includes('#') || /[\x00-\x20\x7f]/.test(target)) return null
  if (target.startsWith('/')) return target
  if (target === '*') return method === 'OPTIONS' ? target : null
  const [, named, authority, rest] = /^(https?):\/\/([^/?#]+)(.*)$/is.exec(target) ?? []
  if (named?.toLowerCase() !== scheme || normaliseHost(authority!, scheme) !== normaliseHost(host, scheme)) return null
  return rest!.startsWith('/') ? rest! : `/${rest!}`
}
