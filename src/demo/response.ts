import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { RequestKind } from './latency.ts'

/** A request to the shop. */
export interface ShopRequest {
  method: string
  /** Path and query. */
  target: string
  /** A header field, by its lower-case name. */
  field(name: string): string | undefined
  body: string
}

/** A response of the shop before HTTP's own rules (HEAD, 304, content coding) are applied. */
export interface ShopResponse {
  status: number
  headers: Readonly<Record<string, string | readonly string[]>>
  body: string | Buffer
  kind: RequestKind
}

const html = 'text/html; charset=UTF-8'

/** Headers of every page of a Shopware storefront. */
const pageHeaders = {
  'content-type': html,
  vary: 'Accept-Encoding',
  'x-frame-options': 'deny',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'strict-origin-when-cross-origin',
}

/** A page for all visitors; `headers` adds the caching rules. */
export function sharedPage(body: string, kind: RequestKind, headers: ShopResponse['headers']): ShopResponse {
  return { status: 200, headers: { ...pageHeaders, ...headers }, body, kind }
}

/** An uncacheable page for one visitor. */
export function privatePage(body: string, headers: ShopResponse['headers'] = {}, status = 200): ShopResponse {
  return {
    status,
    headers: { ...pageHeaders, 'cache-control': 'private, no-store', ...headers },
    body,
    kind: 'session',
  }
}

export function redirect(location: string, cookies: readonly string[] = []): ShopResponse {
  const headers = {
    location,
    'cache-control': 'private, no-store',
    ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}),
  }
  return { status: 303, headers, body: '', kind: 'session' }
}

export function errorPage(status: number, reason: string, headers: ShopResponse['headers'] = {}): ShopResponse {
  const own = { 'content-type': 'text/plain; charset=UTF-8', 'cache-control': 'private, no-cache', ...headers }
  return { status, headers: own, body: `${reason}\n`, kind: 'file' }
}

/** Sends a response: 304 if the client has it already, gzip if it is text and the client accepts it, no body for HEAD. */
export function sendResponse(request: IncomingMessage, response: ServerResponse, page: ShopResponse): void {
  for (const [name, value] of Object.entries(page.headers)) response.setHeader(name, value)
  if (page.status === 200 && isCurrent(request, page)) {
    response.removeHeader('content-type')
    response.writeHead(304).end()
    return
  }
  let body = typeof page.body === 'string' ? Buffer.from(page.body) : page.body
  if (typeof page.body === 'string' && body.length > 0 && acceptsGzip(request)) {
    body = gzipSync(body, { level: 3 })
    response.setHeader('content-encoding', 'gzip')
  }
  if (page.status !== 204) response.setHeader('content-length', body.length)
  response.writeHead(page.status)
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Evaluates the conditions of a request (RFC 9110 §13.2.2): If-None-Match if it is sent, else If-Modified-Since. */
function isCurrent(request: IncomingMessage, page: ShopResponse): boolean {
  const { etag, 'last-modified': lastModified } = page.headers
  const asked = request.headers['if-none-match']
  if (typeof etag === 'string' && asked !== undefined) {
    return asked === '*' || asked.split(',').some((tag) => withoutWeakness(tag.trim()) === withoutWeakness(etag))
  }
  const since = request.headers['if-modified-since']
  return (
    asked === undefined &&
    since !== undefined &&
    typeof lastModified === 'string' &&
    Date.parse(lastModified) <= Date.parse(since)
  )
}

function withoutWeakness(tag: string): string {
  return tag.replace(/^W\//, '')
}

function acceptsGzip(request: IncomingMessage): boolean {
  const codings = String(request.headers['accept-encoding'] ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
  return codings.some((coding) => /^gzip(?:\s*;\s*q=(?:1(?:\.0*)?|0\.0*[1-9]\d*))?$/.test(coding))
}
