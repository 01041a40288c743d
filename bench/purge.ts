/**
 * The claim: purges are quick although each is durable, logged and explained; a tag of 100,000 pages is purged in under a second.
 *
 *   npx node bench/purge.ts [--tags 400] [--large 100000] [--json]
 *
 * Purges a second by tag, ten pages each: in one process, one after the other and sixteen at once; over HTTP, as `PURGE /` with
 * `xkey` on sixteen connections, against the daemon and against Varnish with its xkey module. Then one tag with many pages: seconds
 * until the answer, the longest halt of the event loop, how much the process grew, and when all URLs were in the log. The program must
 * be built; without Debian's varnish and varnish-modules its column is empty.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startDaemon } from '../test/helpers/daemon.ts'
import { startOrigin, type Origin } from '../test/helpers/origin.ts'
import { installed } from '../test/helpers/rivals.ts'
import { startVarnishProxy } from '../test/helpers/varnish.ts'
import type { InProcess } from './lib/purge-worker.ts'

const { values } = parseArgs({
  options: { tags: { type: 'string', default: '400' }, large: { type: 'string', default: '100000' }, json: { type: 'boolean', default: false } },
})
const tags = Number(values.tags)
const pagesOfTag = 10
const connections = 16

const inProcess = await measureInProcess()
const origin = await startOrigin({
  otherwise: ({ path }) => ({
    headers: { 'cache-control': 'public, s-maxage=3600', 'content-type': 'text/html', xkey: `tag-${Math.floor(Number(path.slice(1)) / pagesOfTag)}` },
    body: 'a page of the bench '.repeat(50),
  }),
})
const daemon = await startDaemon({ args: ['--origin', origin.url, '--no-workers'] })
const ours = await overHttp(daemon.url, origin)
await daemon.stop()
const varnish = await measureVarnish(origin)
await origin.stop()
if (values.json) console.log(JSON.stringify({ inProcess, http: { ours, varnish } }))
else print()

async function measureInProcess(): Promise<InProcess> {
  const directory = await mkdtemp(join(tmpdir(), 'pagecache-bench-'))
  try {
    const child = fork(new URL('lib/purge-worker.ts', import.meta.url), [directory, values.tags, values.large], { execArgv: ['--expose-gc'] })
    const ended = once(child, 'exit')
    const failed = ended.then(([code]) => {
      throw new Error(`The purges ended with ${String(code)}`)
    })
    const [value] = (await Promise.race([once(child, 'message'), failed])) as [InProcess]
    failed.catch(() => undefined)
    await ended
    return value
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 })
  }
}

async function measureVarnish(shop: Origin): Promise<number | null> {
  if (!installed('varnishd')) return null
  const proxy = await startVarnishProxy(shop.host)
  try {
    return await overHttp(proxy.url, shop)
  } finally {
    await proxy.stop()
  }
}

/** Purges a second over HTTP; every page is in the cache before, and none after. */
async function overHttp(url: string, shop: Origin): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const visitAll = () => inParallel(tags * pagesOfTag, async (n) => void (await send(agent, `${url}/${n}`, 'GET')))
  await visitAll()
  shop.forget()
  await visitAll()
  if (shop.hits() > 0) throw new Error(`${shop.hits()} pages were not in the cache of ${url}`)
  const started = performance.now()
  await inParallel(tags, async (n) => {
    const { status, body } = await send(agent, url, 'PURGE', { xkey: `tag-${n}` })
    if (status !== 200 || !/Invalidated 10 objects/.test(body)) throw new Error(`PURGE of ${url}: ${status} ${body}`)
  })
  const seconds = (performance.now() - started) / 1_000
  await visitAll()
  if (shop.hits() !== tags * pagesOfTag) throw new Error(`${url} served pages that were purged`)
  agent.destroy()
  return tags / seconds
}

async function inParallel(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: connections }, worker))
}

function send(agent: Agent, url: string, method: string, headers: Record<string, string> = {}): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, method, headers }, (response) => {
      let body = response.statusMessage ?? ''
      response.setEncoding('utf8').on('data', (text: string) => (body += text))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
      response.on('error', reject)
    })
    asked.on('error', reject)
    asked.end()
  })
}

function print(): void {
  const line = (name: string, value: string) => console.log(name.padEnd(52) + value.padStart(12))
  line('purges a second, ten pages each', '')
  line('  in one process, one after the other', inProcess.oneByOne.toFixed(0))
  line('  in one process, sixteen at once', inProcess.sixteenAtOnce.toFixed(0))
  line('  over HTTP, sixteen connections', ours.toFixed(0))
  line('  Varnish and xkey, sixteen connections', varnish === null ? '-' : varnish.toFixed(0))
  const { pages, seconds, loopMilliseconds, rssMegabytes, tracedSeconds } = inProcess.large
  line(`one tag with ${pages} pages`, '')
  line('  until the answer, s', seconds.toFixed(2))
  line('  longest halt of the event loop, ms', loopMilliseconds.toFixed(0))
  line('  memory more than before, MB', rssMegabytes.toFixed(0))
  line('  until all URLs are in the log, s', tracedSeconds.toFixed(2))
}
