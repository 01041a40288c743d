import type { IncomingMessage, ServerResponse } from 'node:http'
import { refusal } from '../api/api-answer.ts'
import { BuiltFile } from '../built-file.ts'
import { isReading } from '../front/respond.ts'
import { sendAnswer } from '../api/send-answer.ts'

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

/** Serves a file of the operators' page (`OwnPath` of the kind `admin`). */
export function serveAdmin(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  onError: (message: string, error: unknown) => void,
): void {
  const known = files.get(path)
  if (known === undefined) return void response.writeHead(308, { Location: '/admin', 'Content-Length': 0 }).end()
  if (!isReading(request))
    return sendAnswer(request, response, refusal(405, `${request.method} is not allowed here.`, { allow: 'GET, HEAD' }))
  known.serve(request, response).catch((error: unknown) => {
    onError('the operators’ page cannot be read', error)
    sendAnswer(request, response, refusal(500, 'Something went wrong here.'))
  })
}
