import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Work } from './latency.ts'

/** What the shop wants to say, before HTTP's own rules (HEAD, 304, coding) are applied to it. */
export interface Answer {
  status: number
  headers: Readonly<Record<string, string | readonly string[]>>
  body: string | Buffer
  work: Work
}

const html = 'text/html; charset=UTF-8'

/** What every page of a Shopware storefront carries. */
const pageHeaders = {
  'content-type': html,
  vary: 'Accept-Encoding',
  'x-frame-options': 'deny',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'strict-origin-when-cross-origin',
}

/** A page for anyone; `headers` adds the caching rules. */
export function sharedPage(body: string, work: Work, headers: Answer['headers']): Answer {
  return { status: 200, headers: { ...pageHeaders, ...headers }, body, work }
}

/** A page for this visitor alone. */
export function privatePage(body: string, headers: Answer['headers'] = {}, status = 200): Answer {
  return {
    status,
    headers: { ...pageHeaders, 'cache-control': 'private, no-store', ...headers },
    body,
    work: 'session',
  }
}

export function redirect(location: string, cookies: readonly string[] = []): Answer {
  const headers = {
    location,
    'cache-control': 'private, no-store',
    ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}),
  }
  return { status: 303, headers, body: '', work: 'session' }
}

export function refusal(status: number, reason: string, headers: Answer['headers'] = {}): Answer {
  const own = { 'content-type': 'text/plain; charset=UTF-8', 'cache-control': 'private, no-cache', ...headers }
  return { status, headers: own, body: `${reason}\n`, work: 'file' }
}

/** Sends an answer: 304 where the client has it already, gzip where it is text and taken, no body to HEAD. */
export function sendAnswer(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value)
  if (answer.status === 200 && isCurrent(request, answer)) {
    response.removeHeader('content-type')
    response.writeHead(304).end()
    return
  }
  let body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body
  if (typeof answer.body === 'string' && body.length > 0 && takesGzip(request)) {
    body = gzipSync(body, { level: 3 })
    response.setHeader('content-encoding', 'gzip')
  }
  if (answer.status !== 204) response.setHeader('content-length', body.length)
  response.writeHead(answer.status)
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** RFC 9110 §13.2.2: If-None-Match decides where it is sent, else If-Modified-Since. */
function isCurrent(request: IncomingMessage, answer: Answer): boolean {
  const { etag, 'last-modified': lastModified } = answer.headers
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

function takesGzip(request: IncomingMessage): boolean {
  const codings = String(request.headers['accept-encoding'] ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
  return codings.some((coding) => /^gzip(?:\s*;\s*q=(?:1(?:\.0*)?|0\.0*[1-9]\d*))?$/.test(coding))
}
