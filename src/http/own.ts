import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { H3 } from 'h3'
import { toNodeHandler } from 'h3/node'
import type { HeaderPair } from '../pages/page.ts'
import { refuseWith } from './refuse.ts'
import { awaitsContinue } from './respond.ts'

/** Paths of the daemon itself; all others are the shops'. */
const ownPaths = ['/healthz', '/readyz', '/api/_info/health-check']
const apiPrefix = '/api/_action/vendor-cache'

/** The largest body that the API takes (contract section 4). */
const largestBody = 1024 * 1024

export interface OwnOptions {
  /** Whether requests are still taken; false once the daemon is stopping. */
  isReady(): boolean
}

/** The daemon's own endpoints, served by h3; returns false for what is a visitor's. */
export function ownEndpoints(options: OwnOptions): (request: IncomingMessage, response: ServerResponse) => boolean {
  const handle = toNodeHandler(ownApp(options))
  return (request, response) => {
    const path = request.url!.split('?', 1)[0]!
    if (!ownPaths.includes(path) && path !== apiPrefix && !path.startsWith(`${apiPrefix}/`)) return false
    if (isTooLarge(request) && response.socket !== null) {
      request.resume()
      refuseTooLarge(response.socket)
      return true
    }
    if (awaitsContinue(request)) response.writeContinue()
    void handle(request, response)
    return true
  }
}

function isTooLarge(request: IncomingMessage): boolean {
  return Number(request.headers['content-length'] ?? 0) > largestBody
}

/** Before anything of it is read. */
function refuseTooLarge(socket: Socket): void {
  const body = Buffer.from(JSON.stringify({ success: false, message: 'The body is larger than 1 MiB.' }))
  const headers: HeaderPair[] = [
    ['Content-Type', 'application/json'],
    ['Cache-Control', 'no-store'],
    ['Content-Length', String(body.length)],
  ]
  refuseWith(socket, 413, headers, body)
}

function ownApp(options: OwnOptions): H3 {
  const app = new H3()
  app.get('/healthz', () => json(200, { status: 'ok' }))
  app.get('/api/_info/health-check', () => new Response(null, { status: 200, headers: { 'cache-control': 'no-store' } }))
  app.get('/readyz', () => (options.isReady() ? json(200, { status: 'ready' }) : json(503, { status: 'stopping' })))
  app.all(`${apiPrefix}/**`, event => {
    const { headers } = event.req
    // Behind another request on the connection, whose answer goes first.
    if (Number(headers.get('content-length') ?? 0) > largestBody) return refusal(413, 'The body is larger than 1 MiB.')
    // No API client can be made yet, so that no token is valid.
    return refusal(401, headers.get('authorization') === null ? 'A bearer token is missing.' : 'The bearer token is not valid.')
  })
  return app
}

function json(status: number, value: unknown): Response {
  return Response.json(value, { status, headers: { 'cache-control': 'no-store' } })
}

function refusal(status: number, message: string): Response {
  const headers: Record<string, string> = { 'cache-control': 'no-store', connection: 'close' }
  if (status === 401) headers['www-authenticate'] = 'Bearer'
  return Response.json({ success: false, message }, { status, headers })
}
