import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** What the page consists of, as scripts/build.js writes it to dist/admin/. */
const files: Record<string, { file: string; type: string }> = {
  '/admin': { file: 'index.html', type: 'text/html; charset=utf-8' },
  '/admin/admin.js': { file: 'admin.js', type: 'text/javascript; charset=utf-8' },
  '/admin/admin.css': { file: 'admin.css', type: 'text/css; charset=utf-8' },
}

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
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-cache',
}

/**
 * The operators' page at `/admin`: false for every other path. The files are read once, when they are first asked for.
 *
 * @param directory dist/admin of the package
 */
export function adminPage(directory: string): (request: IncomingMessage, response: ServerResponse) => boolean {
  const read = new Map<string, { body: Buffer; tag: string }>()
  const load = (file: string) => {
    const body = readFileSync(join(directory, file))
    const entry = { body, tag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
    read.set(file, entry)
    return entry
  }
  return (request, response) => {
    const path = request.url!.split('?', 1)[0]!
    const found = Object.hasOwn(files, path) ? files[path]! : undefined
    if (!found) {
      if (path !== '/admin/') return false
      response.writeHead(308, { Location: '/admin', 'Content-Length': 0 }).end()
      return true
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { ...headers, Allow: 'GET, HEAD', 'Content-Length': 0 }).end()
      return true
    }
    const { body, tag } = read.get(found.file) ?? load(found.file)
    if (request.headers['if-none-match'] === tag) {
      response.writeHead(304, { ...headers, ETag: tag }).end()
      return true
    }
    response.writeHead(200, { ...headers, ETag: tag, 'Content-Type': found.type, 'Content-Length': body.length })
    response.end(request.method === 'HEAD' ? undefined : body)
    return true
  }
}
