import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { parseHitRequest } from '../http/front/plain.ts'
import type { HeaderPair } from '../../src/pages/page.ts'
import type { PageStore } from '../../src/pages/page-store.ts'
import { openFilesystemStore } from '../../src/pages/filesystem-store.ts'
import { buildCache, type CacheSettings } from '../../src/cache/build.ts'
import { fieldLines } from '../../src/cache/fields.ts'
import type { StorefrontCache } from '../../src/cache/storefront-cache.ts'
import type { CacheAnswer, Visit } from '../../src/cache/visit.ts'
import {
  startScriptedOrigin,
  type Fields,
  type OriginRequest,
  type Reply,
  type ScriptedOrigin,
} from './scripted-origin.ts'

/** The initial time of a site's clock: Thursday, 15 January 2026, noon UTC. */
export const noon = Date.UTC(2026, 0, 15, 12)

export interface VisitOptions {
  method?: string
  host?: string
  fields?: Fields
  body?: string
  signal?: AbortSignal
  /** Whether a trusted proxy sends it. */
  trusted?: boolean
  /** As in `HotPath.find`. */
  beganEarlier?: boolean
  /** Skips the hot path. */
  long?: boolean
  /** Visits as a cache that gets our purges, which skips the hot path too. */
  isPurged?: boolean
}

export interface Seen {
  status: number
  headers: HeaderPair[]
  /** The combined lines of a field; null when absent. */
  field(name: string): string | null
  body: Buffer
  text: string
  interim: { status: number; headers: readonly HeaderPair[] }[]
  /** Whether the hot path answered. */
  hot: boolean
}

/** A shop at http://shop.example behind a real cache with a real store and a fake clock. */
export interface Site {
  cache: StorefrontCache
  store: PageStore
  origin: ScriptedOrigin
  faults: string[]
  /** The application cache directory. */
  directory: string
  now(): number
  /** Advances the clock. */
  wait(seconds: number): void
  setTime(time: number): void
  /** Sets the response of the origin. */
  answers(reply: Reply | ((request: OriginRequest) => Reply | Promise<Reply>)): void
  /** Sends a request as the daemon handles it: hot path first, then the regular path. */
  visit(target: string, options?: VisitOptions): Promise<Seen>
  /** Closes the cache, which writes its counted hits to the store. */
  stopCache(): Promise<void>
  close(): Promise<void>
}

export const host = 'shop.example'
export const shopUrl = `http://${host}`

/** `writer`: a thread stores the pages, as in a daemon. */
export async function openSite(
  changes: Partial<CacheSettings> = {},
  { writer = false }: { writer?: boolean } = {},
): Promise<Site> {
  let time = noon
  let script: (request: OriginRequest) => Reply | Promise<Reply> = () => ({ status: 404 })
  const now = () => time
  const wait = (seconds: number) => void (time += seconds * 1000)
  const directory = await mkdtemp(join(tmpdir(), 'pagecache-test-'))
  const faults: string[] = []
  const store = await openFilesystemStore({
    directory,
    maxSize: null,
    now,
    onWarning: (message) => faults.push(message),
    writer,
  })
  const origin = await startScriptedOrigin({ now, advance: wait, answer: (request) => script(request) })
  const { cache, close } = await buildCache({
    channels: [{ id: 'c1', name: 'Shop', url: shopUrl, origin: origin.url }],
    aliases: new Map(),
    store,
    now,
    memory: 16 << 20,
    compression: true,
    maxPageSize: 1 << 20,
    defaultTtl: 0,
    types: [],
    variants: { cookies: ['sw-cache-hash', 'sw-currency'], headers: [] },
    bypass: { cookies: [], paths: ['/checkout', '/account'] },
    ignoreQuery: [],
    timeouts: { connect: 60_000, headers: 60_000, idle: 60_000, total: 120_000 },
    onError: (message, error) => faults.push(`${message}: ${String(error)}`),
    ...changes,
  })
  return {
    cache,
    store,
    origin,
    faults,
    directory,
    now,
    wait,
    setTime: (moment) => void (time = moment),
    answers: (reply) => void (script = typeof reply === 'function' ? reply : () => reply),
    visit: (target, options = {}) => visit(cache, target, options),
    stopCache: close,
    close: async () => {
      await close()
      await store.close()
      await origin.close()
      await rm(directory, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

async function visit(cache: StorefrontCache, target: string, options: VisitOptions): Promise<Seen> {
  const { method = 'GET', signal = new AbortController().signal } = options
  const headers: HeaderPair[] = [['Host', options.host ?? host]]
  for (const [name, value] of Object.entries(options.fields ?? {}))
    for (const line of [value].flat()) headers.push([name, line])
  if (options.body !== undefined) headers.push(['Content-Length', String(Buffer.byteLength(options.body))])
  const request = `${method} ${target} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  const plain =
    options.body === undefined && options.long !== true && options.isPurged !== true
      ? parseHitRequest(Buffer.from(request, 'latin1'), options.trusted ?? false, 200)
      : null
  const view = plain === null ? null : cache.hot.find(plain, options.beganEarlier)
  if (view !== null) {
    cache.hot.count(view, 0.01)
    return seen(view.status, view.headers, view.body ?? Buffer.alloc(0), [], true)
  }
  const interim: Seen['interim'] = []
  const asked: Visit = {
    method,
    scheme: 'http',
    host: options.host ?? host,
    target,
    headers,
    remoteAddress: '192.0.2.7',
    isPurged: options.isPurged === true,
    forwardedFor: null,
    isTrusted: options.trusted ?? false,
    body: options.body === undefined ? null : Readable.from([Buffer.from(options.body)]),
    signal,
    onInterim: (status, fields) => interim.push({ status, headers: fields }),
  }
  const answer = await cache.answer(asked)
  const body = await bytesOf(answer.body)
  return seen(answer.status, answer.headers, body, interim, false)
}

function seen(status: number, headers: HeaderPair[], body: Buffer, interim: Seen['interim'], hot: boolean): Seen {
  const field = (name: string) => {
    const lines = fieldLines(headers, name.toLowerCase())
    return lines.length === 0 ? null : lines.join(', ')
  }
  return { status, headers, field, body, text: body.toString(), interim, hot }
}

async function bytesOf(body: CacheAnswer['body']): Promise<Buffer> {
  if (body === null) return Buffer.alloc(0)
  if (Buffer.isBuffer(body)) return body
  if (!('pieces' in body)) return buffer(body)
  const pieces: Buffer[] = []
  for await (const piece of body.pieces(() => {})) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}

/** A plain GET, for tests that call the cache themselves. */
export function toVisit(target: string): Visit {
  return {
    method: 'GET',
    scheme: 'http',
    host,
    target,
    headers: [],
    remoteAddress: null,
    forwardedFor: null,
    body: null,
    signal: new AbortController().signal,
    onInterim: () => {},
  }
}

/** Whether `Cache-Status` says that the answer was stored. */
export const isHit = (answer: { field(name: string): string | null }) =>
  /; hit/.test(answer.field('cache-status') ?? '')

/** The text of an answer, decoded. */
export function plain({ body, field }: Seen): string {
  const coding = field('content-encoding')
  if (coding === null) return body.toString()
  const decode = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync }[coding]
  return decode === undefined ? `in ${coding}` : decode(body).toString()
}
