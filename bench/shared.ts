/**
 * Claim: a page that another node has fetched takes 3 ms at the median, from a request until its body, and three nodes that lack 600
 * pages, with 30 visitors at once for each page on each node, ask the shop once for each.
 *
 *   npx node bench/shared.ts [--pages 600] [--at-once 600] [--json]
 *
 * Starts a redis-server. Node A fetches pages of 20 kB; then node B gets them, one after another, alternating with the floor: a bare
 * GET of a value of the same size by the same client. Prints milliseconds and their ratio. All nodes, their visitors and their shop run in
 * this process, which makes the second part a matter of counts, not of time.
 */
import { parseArgs } from 'node:util'
import { createClient } from 'redis'
import { SharedPages } from '../src/cluster/shared/shared-pages.ts'
import { openSite, noon, type Site } from '../test/cache/site.ts'
import { startRedis } from '../test/helpers/redis.ts'
import { until } from '../test/helpers/until.ts'
import { samplePage } from './lib/page.ts'
import { median, percentile } from './lib/statistics.ts'

const { values } = parseArgs({
  options: {
    pages: { type: 'string', default: '600' },
    'at-once': { type: 'string', default: '600' },
    json: { type: 'boolean', default: false },
  },
})
const count = Number(values.pages)
/** Pages that are missed at the same time: all visitors share the processor with three nodes and the shop. */
const atOnce = Number(values['at-once'])
const reply = {
  fields: { 'Content-Type': 'text/html', 'Cache-Control': 'public, s-maxage=600', xkey: 'a b c d e' },
  body: samplePage().identity,
}
const redis = await startRedis()
const clock = { now: () => ({ history: 1, number: 1 }), admits: () => Promise.resolve(true) }

async function openNode(): Promise<Site & { shared: SharedPages }> {
  const shared = new SharedPages({
    url: redis.url,
    clock,
    now: () => noon,
    maxAge: 86_400_000,
    maxVariants: 64,
    secret: () => Promise.resolve(Buffer.alloc(32)),
    onChange: (message) => console.error(message),
  })
  const site = await openSite({ shared }, { writer: true })
  site.answers(reply)
  await shared.ready()
  return Object.assign(site, { shared })
}

async function close(nodes: readonly (Site & { shared: SharedPages })[]): Promise<void> {
  for (const node of nodes) {
    await node.shared.close()
    await node.close()
  }
}

const time = async (work: () => Promise<unknown>) => {
  const started = performance.now()
  await work()
  return performance.now() - started
}

async function measure() {
  const nodes = [await openNode(), await openNode()] as const
  const [a, b] = nodes
  const client = await createClient({ url: redis.url }).connect()
  for (let page = 0; page < count; page += 1) await a.visit(`/${page}`)
  await until(() => a.shared.counts.written === count)
  const [key] = await client.keys('*:pages:*')
  const [field] = await client.hKeys(key!)
  await client.set('floor', 'x'.repeat(Number(await client.hStrLen(key!, field!))))
  const [shared, floor]: [number[], number[]] = [[], []]
  for (let page = 0; page < count; page += 1) {
    shared.push(await time(() => b.visit(`/${page}`)))
    floor.push(await time(() => client.get('floor')))
  }
  const { hits } = b.shared.counts
  client.destroy()
  await close(nodes)
  return {
    hits,
    median: median(shared),
    last: percentile(shared, 99),
    floor: median(floor),
    ratio: median(shared) / median(floor),
  }
}

async function coalesce() {
  const nodes = [await openNode(), await openNode(), await openNode()]
  for (let first = 0; first < count; first += atOnce) {
    const pages = Array.from({ length: Math.min(atOnce, count - first) }, (_, page) => `/cold/${first + page}`)
    const visits = pages.flatMap((page) => nodes.map((node) => Array.from({ length: 30 }, () => node.visit(page))))
    await Promise.all(visits.flat())
  }
  const asked = nodes.reduce((sum, { origin }) => sum + origin.requests.length, 0)
  if (asked > count) for (const { shared } of nodes) console.error(JSON.stringify([shared.counts, shared.faults]))
  await close(nodes)
  return { visitors: count * 90, asked }
}

const taken = await measure()
const cold = await coalesce()
await redis.stop()
if (values.json) console.log(JSON.stringify({ ...taken, ...cold }))
else {
  const ms = (value: number) => `${value.toFixed(2)} ms`
  console.log(
    `page of another node: median ${ms(taken.median)}, 99th percentile ${ms(taken.last)} (${taken.hits} hits)`,
  )
  console.log(`bare GET: median ${ms(taken.floor)}; ratio ${taken.ratio.toFixed(1)}`)
  console.log(`${count} cold pages, ${cold.visitors} visitors on three nodes: ${cold.asked} requests to the shop`)
}
