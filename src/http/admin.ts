import type { IncomingMessage, ServerResponse } from 'node:http'
import { refusal } from './api-answer.ts'
import { BuiltFile } from './built-file.ts'
import { askedHost } from './request-record.ts'
import { sendAnswer } from './send-answer.ts'

/** Nothing from elsewhere, nothing inline, nothing that frames it; it speaks to its own daemon alone. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

const headers = {
  'Content-Security-Policy': policy,
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-cache',
}

function file(name: string, type: string): BuiltFile {
  return new BuiltFile(`admin/${name}`, { ...headers, 'Content-Type': `${type}; charset=utf-8` })
}

const files = new Map([
  ['/admin', file('index.html', 'text/html')],
  ['/admin/admin.js', file('admin.js', 'text/javascript')],
  ['/admin/admin.css', file('admin.css', 'text/css')],
])

export interface AdminOptions {
  /** Whether `/admin` under this host is ours: a shop has an administration of its own there. */
  isOurs(host: string): boolean
  onError(message: string, error: unknown): void
}

/** The operators' page at `/admin`; false for what is somebody else's. */
export function adminPage({ isOurs, onError }: AdminOptions): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    const path = request.url!.split('?', 1)[0]!
    const known = files.get(path)
    if ((known === undefined && path !== '/admin/') || !isOurs(askedHost())) return false
    if (known === undefined) response.writeHead(308, { Location: '/admin', 'Content-Length': 0 }).end()
    else if (request.method !== 'GET' && request.method !== 'HEAD') sendAnswer(request, response, refusal(405, `${request.method} is not allowed here.`, { allow: 'GET, HEAD' }))
    else {
      known.serve(request, response).catch((error: unknown) => {
        onError('the operators’ page cannot be read', error)
        sendAnswer(request, response, refusal(500, 'Something went wrong here.'))
      })
    }
    return true
  }
}
