import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { bestEncodings } from '../cache/accept-encoding.ts'

interface Content {
  etag: string
  codings: Record<'br' | 'gzip' | 'identity', Buffer>
}

/** A file that scripts/build.js generates for browsers, read and compressed on the first request. */
export class BuiltFile {
  readonly #file: URL
  readonly #headers: OutgoingHttpHeaders
  #loading: Promise<Content> | null = null

  /**
   * @param path below dist/
   * @param headers fields of every answer, including Content-Type
   */
  constructor(path: string, headers: OutgoingHttpHeaders) {
    // This module runs from source or from a chunk in dist/.
    this.#file = new URL(import.meta.url.endsWith('.ts') ? `../../dist/${path}` : `../${path}`, import.meta.url)
    this.#headers = { ...headers, Vary: 'Accept-Encoding', 'X-Content-Type-Options': 'nosniff' }
  }

  /** Answers a GET or HEAD, with 304 where the client has the current version. Throws where the file is missing, so the package is broken. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#loading ??= load(this.#file)
    const { etag, codings } = await this.#loading.catch((error: unknown) => {
      this.#loading = null
      throw error
    })
    const headers = { ...this.#headers, ETag: etag }
    if (request.headers['if-none-match'] === etag) {
      response.writeHead(304, headers).end()
      return
    }
    const best = bestEncodings((request.headers['accept-encoding'] as string | undefined) ?? null)
    const coding = best.includes('br') ? 'br' : best.includes('gzip') ? 'gzip' : 'identity'
    const body = codings[coding]
    response.writeHead(200, {
      ...headers,
      'Content-Length': body.length,
      ...(coding === 'identity' ? {} : { 'Content-Encoding': coding }),
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
}

async function load(file: URL): Promise<Content> {
  const identity = await readFile(file)
  const [br, gz] = await Promise.all([promisify(brotliCompress)(identity), promisify(gzip)(identity, { level: 9 })])
  return {
    etag: `W/"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`,
    codings: { br, gzip: gz, identity },
  }
}
