import type { HeaderPair } from '../../pages/page.ts'
import { normaliseHost } from '../../cache/channel.ts'
import { fieldLines } from '../../cache/fields.ts'

/** Why a request is refused before anything is looked up. */
export interface Refusal {
  status: number
  text: string
  /** Fields that go with it. */
  headers?: HeaderPair[]
}

export interface Accepted {
  /** Origin-form. */
  target: string
  scheme: string
  host: string
}

/** The head of a request as the parser gave it. */
export interface RequestHead {
  method: string
  target: string
  /** `1.1` or `1.0`. */
  version: string
  headers: readonly HeaderPair[]
}

/** The longest target, the most fields and the largest block of them, in bytes (shared/threats: front). */
export const longestTarget = 8192
export const mostFields = 200
export const largestHead = 64 * 1024

const allowed = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/**
 * Whether a request is sound enough to be looked at. What Node's parser lets through but two readers could understand in two
 * ways is refused here: several Hosts, an absolute form that disagrees, odd transfer codings.
 *
 * @param trusted whether the peer is a trusted proxy, whose X-Forwarded-Host and -Proto are believed
 */
export function examine(
  { method, target: rawTarget, version, headers }: RequestHead,
  trusted: boolean,
): Accepted | Refusal {
  if (method === 'TRACE' || method === 'CONNECT')
    return { status: 405, text: `${method} is not allowed here.`, headers: [['Allow', allowed]] }
  if (version !== '1.1' && version !== '1.0') return { status: 505, text: 'HTTP/1.1 is spoken here.' }
  if (rawTarget.length > longestTarget) return { status: 414, text: `The URL is longer than ${longestTarget} bytes.` }
  if (headers.length > mostFields)
    return { status: 431, text: `The request has more than ${mostFields} header fields.` }
  if (headers.reduce((size, [name, value]) => size + name.length + value.length + 4, 0) > largestHead)
    return { status: 431, text: 'The header fields are too large.' }
  const coding = fieldLines(headers, 'transfer-encoding')
  // HTTP/1.0 knows no chunks: whoever relayed this did not read the body as we would (RFC 9112 §6.1).
  if (coding.length > 1 || (coding.length === 1 && (version !== '1.1' || coding[0]!.toLowerCase() !== 'chunked')))
    return { status: 400, text: 'This Transfer-Encoding is not understood.' }
  const hosts = fieldLines(headers, 'host')
  if (hosts.length !== 1) return { status: 400, text: 'A request has exactly one Host.' }
  const site = publicSite(hosts[0]!, headers, trusted)
  if (site === null) return { status: 400, text: 'The Host is not valid.' }
  const target = originForm(method, rawTarget, `${site.scheme}://${hosts[0]!}`)
  if (target === null) return { status: 400, text: 'The request target is not valid.' }
  return { target, ...site }
}

function publicSite(
  host: string,
  headers: readonly HeaderPair[],
  trusted: boolean,
): { scheme: string; host: string } | null {
  const last = (name: string) => (trusted ? fieldLines(headers, name).join(',').split(',').at(-1)!.trim() : '')
  const scheme = last('x-forwarded-proto').toLowerCase() || 'http'
  if (scheme !== 'http' && scheme !== 'https') return null
  const own = normaliseHost(host, scheme)
  const forwarded = last('x-forwarded-host')
  const name = own === null || forwarded === '' ? own : normaliseHost(forwarded, scheme)
  return name === null ? null : { scheme, host: name }
}

/** The origin-form of a target; an absolute form must name the same site (RFC 9112 §3.2.2). Null where it is neither. */
function originForm(method: string, target: string, site: string): string | null {
  // Fragments are never sent; controls and blanks the parser refuses already.
  if (target.includes('#') || /[\x00-\x20\x7f]/.test(target)) return null
  if (target.startsWith('/')) return target
  if (target === '*') return method === 'OPTIONS' ? '/*' : null
  const match = /^(https?:\/\/[^/?#]+)(.*)$/is.exec(target)
  if (match === null || match[1]!.toLowerCase() !== site.toLowerCase()) return null
  return match[2]!.startsWith('/') ? match[2]! : `/${match[2]!}`
}
