import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { bestEncodings } from '../cache/accept-encoding.ts'
import type { HeaderPair } from '../pages/page.ts'
import type { Answer } from './answer.ts'

interface Content {
  etag: string
  codings: Record<'br' | 'gzip' | 'identity', Buffer>
}

/** A file that scripts/build.js builds for browsers. It is read and compressed with the first request for it. */
export class BuiltFile {
  readonly #file: URL
  readonly #headers: readonly HeaderPair[]
  #loading: Promise<Content> | null = null

  /**
   * @param path below dist/
   * @param headers of every answer, its Content-Type among them
   */
  constructor(path: string, headers: readonly HeaderPair[]) {
    // This module runs from source, or from a chunk in dist/.
    this.#file = new URL(import.meta.url.endsWith('.ts') ? `../../dist/${path}` : `../${path}`, import.meta.url)
    this.#headers = [...headers, ['Vary', 'Accept-Encoding'], ['X-Content-Type-Options', 'nosniff']]
  }

  /** The answer to a GET or HEAD: 304 where the client has the file already. Throws where the package lacks the file. */
  async answer({ headers }: IncomingMessage): Promise<Answer> {
    this.#loading ??= load(this.#file)
    const { etag, codings } = await this.#loading.catch((error: unknown) => {
      this.#loading = null
      throw error
    })
    const fields: HeaderPair[] = [...this.#headers, ['ETag', etag]]
    if (headers['if-none-match'] === etag) return { status: 304, headers: fields, body: null }
    const best = bestEncodings((headers['accept-encoding'] as string | undefined) ?? null)
    const coding = best.includes('br') ? 'br' : best.includes('gzip') ? 'gzip' : 'identity'
    const body = codings[coding]
    fields.push(['Content-Length', String(body.length)])
    if (coding !== 'identity') fields.push(['Content-Encoding', coding])
    return { status: 200, headers: fields, body }
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
