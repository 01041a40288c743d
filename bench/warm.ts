/**
 * Claim: a warmup fetches pages nearly as fast as the shop can deliver them.
 *
 *   npx node bench/warm.ts [--rounds 5] [--concurrency 8] [--fast] [--troubled] [--json]
 *
 * Alternately warms the demo shop (with realistic response times; `--fast`: without) into an empty cache with `warmup:start --wait`, and
 * fetches its pages with `wrk` at the same concurrency. Pages per second are those of the warming alone, from the run's record, without
 * the start of the program and the reading of the sitemaps. Prints medians and ranges over the rounds.
 *
 * `--troubled`: warms through a relay instead of comparing with `wrk`, once as it is and once with every tenth page answering 503. The
 * retries of those pages are about a third more requests, so a ratio around 0.6 means that the other pages are not slowed down.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startChild } from '../test/helpers/child.ts'
import { runProgram } from '../test/helpers/daemon.ts'
import { scratch } from '../test/helpers/scratch.ts'
import { median, withRange } from './lib/statistics.ts'
import { load } from './lib/wrk.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    concurrency: { type: 'string', default: '8' },
    fast: { type: 'boolean', default: false },
    troubled: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const concurrency = Number(values.concurrency)
/** The public URL. Nothing listens there. */
const publicUrl = 'http://shop.test'

interface Shop {
  url: string
  channels: { id: string; name: string; url: string }[]
}

const project = await scratch('warm')
const program = fileURLToPath(new URL('../dist/demo/shop-main.js', import.meta.url))
const process_ = await startChild(
  [process.execPath, program, '--url', publicUrl, ...(values.fast ? ['--no-latency'] : [])],
  { ready: (logs) => logs.includes('\n') },
)
try {
  const shop = JSON.parse(process_.logs().split('\n')[0] ?? '') as Shop
  const relay = await startRelay(shop.url)
  const configure = (url: string) =>
    writeFileSync(join(project.path, 'pagecache.yaml'), configuration({ ...shop, url }))
  configure(relay.url)
  await warm()
  const paths = relay.pages()
  if (!values.troubled) configure(shop.url)
  const rounds: { warm: number; rival: number }[] = []
  for (let round = 1; round <= Number(values.rounds); round++) {
    if (values.troubled) {
      relay.refuse([])
      const rival = await warm()
      relay.refuse(paths.filter((_, index) => index % 10 === 9))
      rounds.push({ warm: await warm(), rival })
    } else rounds.push({ warm: await warm(), rival: await bare(shop, paths) })
    console.error(`round ${round}: ${JSON.stringify(rounds.at(-1))}`)
  }
  report(rounds, paths.length)
  relay.stop()
} finally {
  await process_.stop()
  await project.discard()
}

function configuration({ url, channels }: Shop): string {
  const salesChannels = channels.map((channel) => ({
    ...channel,
    pages: undefined,
    origin: url,
    sitemaps: ['/sitemap.xml'],
  }))
  return JSON.stringify({ salesChannels, warmup: { concurrency } })
}

/** Pages per second of a warmup into an empty cache. */
async function warm(): Promise<number> {
  rmSync(join(project.path, 'var'), { recursive: true, force: true })
  const args = ['warmup:start', '--wait', '--json', ...(values.troubled ? ['--allow-failures'] : [])]
  const { code, stdout, stderr } = await runProgram(args, { projectDir: project.path })
  if (code !== 0) throw new Error(`warmup:start exited with ${code}:\n${stderr}`)
  const { progress } = JSON.parse(stdout) as {
    progress: { processed_urls: number; created_at: string; finished_at: string }
  }
  return (progress.processed_urls * 1000) / (Date.parse(progress.finished_at) - Date.parse(progress.created_at))
}

async function bare({ url }: Shop, paths: string[]): Promise<number> {
  const { requestsPerSecond } = await load({
    url,
    headers: { Host: new URL(publicUrl).host },
    connections: concurrency,
    seconds: 10,
    paths,
  })
  return requestsPerSecond
}

/** Forwards requests to the shop, remembers the pages, and answers 503 for some paths. */
async function startRelay(shop: string) {
  let refused = new Set<string>()
  const pages = new Set<string>()
  const server = createServer((request, response) => {
    if (refused.has(request.url!)) return void response.writeHead(503).end()
    const forwarded = httpRequest(shop + request.url, { headers: request.headers, agent }, (answer) => {
      if (answer.headers['content-type']?.startsWith('text/html') === true) pages.add(request.url!)
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    request.pipe(forwarded)
  })
  const agent = new Agent({ keepAlive: true })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pages: () => [...pages],
    refuse: (paths: readonly string[]) => void (refused = new Set(paths)),
    stop: () => {
      server.close()
      server.closeAllConnections()
      agent.destroy()
    },
  }
}

function report(rounds: readonly { warm: number; rival: number }[], pages: number): void {
  const rival = values.troubled ? 'untroubled' : 'wrk'
  const [warmed, rivals] = [rounds.map((round) => round.warm), rounds.map((round) => round.rival)]
  const ratios = rounds.map((round) => round.warm / round.rival)
  if (values.json) {
    const medians = { warm: median(warmed), [rival]: median(rivals), ratio: median(ratios) }
    return console.log(JSON.stringify({ pages, concurrency, ...medians, rounds }))
  }
  console.log(`| ${pages} pages, ${concurrency} concurrent | pages per second |\n|---|---|`)
  console.log(`| warmup:start --wait | ${withRange(warmed, 1)} |\n| ${rival} | ${withRange(rivals, 1)} |`)
  console.log(`\nwarmup ÷ ${rival}: ${withRange(ratios, 2)}`)
}
