import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { listElements } from '../proxy/fields.ts'
import { refuse, type StageVisit } from './stage-visit.ts'

interface Script {
  etag: string
  codings: Record<'br' | 'gzip' | 'identity', Buffer>
}

/** Made by scripts/build.js; this file is source, or in a chunk of dist/. */
const file = new URL(import.meta.url.endsWith('.ts') ? '../../dist/stages/client.js' : '../stages/client.js', import.meta.url)
let loading: Promise<Script> | null = null

/** `GET /vendor-stage/client.js`: the storefront script, compressed once. Browsers ask for it again after ten minutes. */
export async function serveStageScript(visit: StageVisit): Promise<void> {
  const { request, response } = visit
  loading ??= load()
  const script = await loading.catch(() => null)
  if (script === null) {
    loading = null
    return refuse(visit, 500, 'Something went wrong here.')
  }
  const accepted = listElements(request.headers['accept-encoding'] as string | undefined ?? null)
  const coding = accepted.includes('br') ? 'br' : accepted.includes('gzip') ? 'gzip' : 'identity'
  const headers = {
    'Cache-Control': 'public, max-age=600',
    ETag: script.etag,
    Vary: 'Accept-Encoding',
    'X-Content-Type-Options': 'nosniff',
  }
  if (request.headers['if-none-match'] === script.etag) {
    response.writeHead(304, headers).end()
    return
  }
  const body = script.codings[coding]
  response.writeHead(200, {
    ...headers,
    'Content-Type': 'text/javascript; charset=utf-8',
    'Content-Length': body.length,
    ...(coding === 'identity' ? {} : { 'Content-Encoding': coding }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

async function load(): Promise<Script> {
  const identity = await readFile(file)
  const [br, gz] = await Promise.all([promisify(brotliCompress)(identity), promisify(gzip)(identity, { level: 9 })])
  return { etag: `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`, codings: { br, gzip: gz, identity } }
}
