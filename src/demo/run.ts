import { mkdtemp, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PagecacheError } from '../errors.ts'
import { Browser, type Seen } from './browser.ts'
import { showStages } from './popup-stages.ts'
import { Workspace } from './workspace.ts'

export interface DemoOptions {
  /** The installed package: its `bin/run.js` and `dist/` are what is shown. */
  root: string
  /** How the product is called here, for the text of what to do next. */
  program: string
  /** Where the demo's own directory is made. */
  temporary: string
  /** Of the cache; null takes a free one. */
  port: number | null
  /** Leave shop and cache running until `signal` says otherwise. */
  keep: boolean
  latency: 'on' | 'off'
  /** Which of our descriptors the commands that are shown print to. */
  output: 1 | 2
  write: (text: string) => void
  signal: AbortSignal
  variables: Readonly<Record<string, string | undefined>>
}

export interface DemoResult {
  /** Pages that the shop offers, over both channels. */
  pages: number
  /** Median milliseconds of one product page. */
  shopMs: number
  cacheMs: number
}

/** What the shop's process says when it is ready (shop-main.ts). */
interface ShopReady {
  url: string
  channels: { id: string; name: string; url: string; pages: number }[]
}

/** What is read of `cache:stats --json`; seconds. */
interface Statistics {
  aggregated: { avgCacheHitTime: number }
}

interface Setup extends DemoOptions {
  workspace: Workspace
  directory: string
  shop: ShopReady
  /** What visitors type: the cache's address. */
  url: string
}

/**
 * The whole round: a demo shop, the cache before it, a warmup, what it brought, who stays outside, a clear.
 * Everything happens in a temporary directory and in processes that are gone afterwards. Throws
 * PagecacheError CHECK_FAILED where a step does not show what it should.
 */
export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const directory = await mkdtemp(join(options.temporary, 'pagecache-demo-'))
  const workspace = new Workspace(directory, options.variables)
  const browser = new Browser()
  try {
    const setup = await setUp(options, workspace, directory)
    return await walkThrough(setup, browser)
  } finally {
    browser.close()
    await workspace.close()
  }
}

async function walkThrough(setup: Setup, browser: Browser): Promise<DemoResult> {
  const path = await findProduct(setup, browser)
  const shopMs = await browser.median(setup.shop.url + path, 7)
  setup.write(`\nThe product page ${path}\ntakes ${formatMs(shopMs)} from the shop (median of 7 requests).\n`)

  await show(setup, ['warmup:start', '--wait'])
  const hit = await browser.get(setup.url + path)
  mustBe(hit, true, 'a warmed product page')
  const cacheMs = await browser.median(setup.url + path, 51)
  setup.write(
    `\nThe same page takes ${formatMs(cacheMs)} from the cache (median of 51): ${Math.round(shopMs / cacheMs)} times as fast.\n`,
  )

  await awaitCountedHits(setup)
  await show(setup, ['cache:stats'])
  await show(setup, ['cache:inspect', setup.url + path])
  await showVisitors(setup)
  await showStages({
    ...setup,
    page: path,
    show: (argv) => show(setup, argv),
    read: (argv) => setup.workspace.read([join(setup.root, 'bin/run.js'), ...argv]),
  })
  const pages = setup.shop.channels.reduce((sum, channel) => sum + channel.pages, 0)
  if (setup.keep) {
    await keepOpen(setup)
  } else {
    await show(setup, ['vendor:cache:clear'])
    mustBe(await browser.get(setup.url + path), false, 'a page after the clear')
    mustBe(await browser.get(setup.url + path), true, 'a page that was visited after the clear')
    setup.write(
      `\nThe next visit of that page went to the shop again, and put it back into the cache.\n${nextSteps(setup.program)}`,
    )
  }
  return { pages, shopMs: toHundredths(shopMs), cacheMs: toHundredths(cacheMs) }
}

/** Starts the shop and the cache before it, each knowing the other's address. */
async function setUp(options: DemoOptions, workspace: Workspace, directory: string): Promise<Setup> {
  const { root, signal, write } = options
  const url = `http://127.0.0.1:${await findFreePort(options.port ?? 0)}`
  const speed = options.latency === 'off' ? ['--no-latency'] : []
  const program = join(root, 'dist/demo/shop-main.js')
  const printed = await workspace.start([program, '--url', url, ...speed], signal, (text) => text.includes('\n'))
  const shop = JSON.parse(printed.slice(0, printed.indexOf('\n'))) as ShopReady
  const pages = shop.channels.reduce((sum, channel) => sum + channel.pages, 0)
  const names = shop.channels.map((channel) => `${channel.name} (${channel.url}/)`).join(' and ')
  write(
    `A demo shop with ${pages} pages is at ${shop.url}.\nIts two storefronts, as visitors know them, are\n${names}.\n`,
  )

  await writeFile(join(directory, 'pagecache.yaml'), drawConfig(url, shop))
  write('\n$ pagecache serve\n')
  await workspace.start([join(root, 'bin/run.js'), 'serve'], signal, () => isReady(url))
  write(`The cache stands before it, at ${url}.\n`)
  return { ...options, workspace, directory, shop, url }
}

/** The configuration of the demo's project directory; JSON is YAML. */
function drawConfig(url: string, shop: ShopReady): string {
  const salesChannels = shop.channels.map((channel) => ({
    id: channel.id,
    name: channel.name,
    url: channel.url,
    origin: shop.url,
    sitemaps: [`${channel.url}/sitemap.xml`],
  }))
  const server = { host: '127.0.0.1', port: Number(new URL(url).port) }
  return `${JSON.stringify({ server, salesChannels, warmup: { concurrency: 8 } }, null, 2)}\n`
}

/** Runs a command of the product and lets it be seen. */
async function show(setup: Setup, argv: readonly string[]): Promise<void> {
  setup.write(`\n$ pagecache ${argv.join(' ')}\n`)
  await setup.workspace.run([join(setup.root, 'bin/run.js'), ...argv], setup.signal, setup.output)
}

/** The daemon counts hits in memory and tells the store every few seconds: waits until the statistics know of them. */
async function awaitCountedHits({ workspace, root, signal }: Setup): Promise<void> {
  const deadline = performance.now() + 15_000
  for (;;) {
    signal.throwIfAborted()
    const statistics = JSON.parse(
      await workspace.read([join(root, 'bin/run.js'), 'cache:stats', '--json']),
    ) as Statistics
    if (statistics.aggregated.avgCacheHitTime > 0) return
    if (performance.now() > deadline)
      throw new PagecacheError('CHECK_FAILED', 'The statistics know of no hit 15 s after it.')
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}

/** Path of the first product that the home page links to. */
async function findProduct(setup: Setup, browser: Browser): Promise<string> {
  const home = await browser.get(`${setup.shop.url}/`)
  const path = /class="card" href="([^"]+)"/.exec(home.text)?.[1]
  if (path === undefined) throw new PagecacheError('CHECK_FAILED', 'The demo shop shows no product on its home page.')
  return path
}

/** Logs in, fills a basket, and shows that neither leaves a trace in what others get. */
async function showVisitors(setup: Setup): Promise<void> {
  const { url, write } = setup
  const [ada, stranger] = [new Browser(), new Browser()]
  const say = (who: string, seen: Seen) =>
    write(`  ${who.padEnd(34)}${String(seen.headers['cache-status'] ?? 'no Cache-Status')}\n`)
  try {
    write('\nWhat belongs to one visitor stays out of the cache (Cache-Status of each answer):\n')
    const before = await stranger.get(`${url}/`)
    say('a stranger on the home page', before)
    await ada.post(`${url}/account/login`, { username: 'ada@example.com', password: 'demo' })
    const own = await ada.get(`${url}/`)
    say('Ada, logged in, on the home page', own)
    const product = await ada.get(url + (await findProduct(setup, ada)))
    const productId = /name="productId" value="(\w+)"/.exec(product.text)?.[1] ?? ''
    await ada.post(`${url}/checkout/line-item/add`, { productId })
    const basket = await ada.get(`${url}/checkout/cart`)
    say("Ada's basket", basket)
    const after = await stranger.get(`${url}/`)
    say('the stranger once more', after)
    mustBe(before, true, 'the home page for a stranger')
    mustBe(own, false, 'the home page for a visitor who is logged in')
    mustBe(basket, false, 'a basket')
    mustBe(after, true, 'the home page for a stranger')
    if (!own.text.includes('Hello Ada') || before.text !== after.text || after.text.includes('Ada')) {
      throw new PagecacheError('CHECK_FAILED', 'A visitor was shown a page that belongs to another.')
    }
    write('Only Ada read "Hello Ada".\n')
  } finally {
    ada.close()
    stranger.close()
  }
}

/** Throws unless the cache answered (`hit`) or the shop did. */
function mustBe(seen: Seen, hit: boolean, what: string): void {
  const status = String(seen.headers['cache-status'] ?? '')
  if (seen.status === 200 && /(?:^|;\s*)hit(?:;|$)/.test(status) === hit) return
  throw new PagecacheError(
    'CHECK_FAILED',
    `Expected ${hit ? 'a hit' : 'no hit'} for ${what}; got ${seen.status}, Cache-Status: ${status || 'none'}.`,
  )
}

async function keepOpen(setup: Setup): Promise<void> {
  const { program, url, directory, signal } = setup
  setup.write(`
Everything keeps running until Ctrl-C. To play:
  open ${url}/ or ${url}/de/ in a browser
  log in with any e-mail address and the password "demo"
  ask and steer the cache, with any command, from another terminal:
    ${program} cache:list --type listings --project-dir ${directory}
    ${program} vendor:cache:clear --type products --project-dir ${directory}
`)
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

function nextSteps(program: string): string {
  const steps = [
    ['init', 'write a commented pagecache.yaml for your own shop'],
    ['serve --origin <URL>', 'or put the cache before it without any configuration'],
    ['warmup:start --wait', "fill it from the shop's sitemap"],
    ['demo --keep', 'leave this demo running to play with'],
    ['--help', 'list every command'],
  ].map(([command = '', purpose]) => `  ${program} ${command.padEnd(24)}${purpose}\n`)
  return `\nThat was the whole round: shop, cache, warmup, statistics, popup stages, clear. What to do next:\n${steps.join('')}README.md has all of it in order.\n`
}

async function isReady(url: string): Promise<boolean> {
  return await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
    async (response) => (await response.arrayBuffer(), response.ok),
    () => false,
  )
}

/**
 * The port of 127.0.0.1, or any (0), that was free a moment ago: the shop has to know the cache's address before the cache
 * starts. Throws PagecacheError LISTEN_FAILED where it is taken.
 */
async function findFreePort(wanted: number): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => probe.once('error', reject).listen(wanted, '127.0.0.1', resolve)).catch(
    (error: NodeJS.ErrnoException) => {
      const hint = 'Choose another port with --port, or leave it out for any free one.'
      throw new PagecacheError(
        'LISTEN_FAILED',
        `Cannot listen on 127.0.0.1:${wanted}: ${error.code ?? error.message}`,
        { hint, cause: error },
      )
    },
  )
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

function toHundredths(ms: number): number {
  return Math.round(ms * 100) / 100
}

function formatMs(ms: number): string {
  return `${ms < 10 ? ms.toFixed(2) : ms.toFixed(0)} ms`
}
