import { mkdtemp, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { PagecacheError } from '../errors.ts'
import { Browser, type PageVisit } from './browser.ts'
import { showChanges } from './changes.ts'
import { nextSteps } from './next-steps.ts'
import { showStages } from './popup-stages.ts'
import type { ShopwareVersion } from './shopware.ts'
import { Workspace } from './workspace.ts'

export interface DemoOptions {
  /** Directory of the installed package; the demo runs its `bin/run.js` and `dist/`. */
  root: string
  /** The command to run pagecache on this machine, for the list of next steps. */
  program: string
  /** Parent of the demo's temporary directory. */
  temporary: string
  /** Port of the cache; null for any free one. */
  port: number | null
  /** Leave shop and cache running until `signal` is aborted. */
  keep: boolean
  latency: 'on' | 'off'
  /** The version of Shopware that the shop imitates. */
  version: ShopwareVersion
  /** File descriptor for the output of the commands. */
  output: 1 | 2
  write: (text: string) => void
  signal: AbortSignal
  variables: Readonly<Record<string, string | undefined>>
}

export interface DemoResult {
  /** Pages of the shop, in both channels. */
  pages: number
  /** Median response time of one product page, in milliseconds. */
  shopMs: number
  cacheMs: number
}

/** The JSON that the shop's process prints when it is ready (shop-main.ts). */
interface ShopReady {
  url: string
  channels: { id: string; name: string; url: string; pages: number }[]
}

/** The part of `cache:stats --json` that the demo reads; in seconds. */
interface Statistics {
  aggregated: { avgCacheHitTime: number }
}

interface Setup extends DemoOptions {
  workspace: Workspace
  directory: string
  shop: ShopReady
  /** The cache's address, which is the shop's public URL. */
  url: string
  /** Bearer token of the shop's admin API. */
  token: string
}

/**
 * Runs the demo: starts a shop and a cache in front of it, warms the cache, compares response times, shows private pages, popup
 * stages and a clear. It uses a temporary directory and child processes, and removes both afterwards. Throws CHECK_FAILED if a step
 * has an unexpected result.
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
  assertHit(hit, true, 'a warmed product page')
  const cacheMs = await browser.median(setup.url + path, 51)
  setup.write(
    `\nThe same page takes ${formatMs(cacheMs)} from the cache (median of 51): ${Math.round(shopMs / cacheMs)} times as fast.\n`,
  )

  await awaitCountedHits(setup)
  await show(setup, ['cache:stats'])
  await show(setup, ['cache:inspect', setup.url + path])
  await showVisitors(setup)
  await showChanges({ ...setup, page: path, show: (argv) => show(setup, argv) })
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
    assertHit(await browser.get(setup.url + path), false, 'a page after the clear')
    assertHit(await browser.get(setup.url + path), true, 'a page that was visited after the clear')
    setup.write(`\nThe next visit of that page was a miss, which cached it again.\n${nextSteps(setup.program)}`)
  }
  return { pages, shopMs: toHundredths(shopMs), cacheMs: toHundredths(cacheMs) }
}

/** Starts the shop and a cache in front of it. */
async function setUp(options: DemoOptions, workspace: Workspace, directory: string): Promise<Setup> {
  const { root, signal, version, write } = options
  const token = randomBytes(16).toString('hex')
  const url = `http://127.0.0.1:${await findFreePort(options.port ?? 0)}`
  const speed = options.latency === 'off' ? ['--no-latency'] : []
  const program = join(root, 'dist/demo/shop-main.js')
  const printed = await workspace.start(
    [program, '--url', url, '--shopware', version, '--purge', url, '--admin-token', token, ...speed],
    signal,
    (text) => text.includes('\n'),
  )
  const shop = JSON.parse(printed.slice(0, printed.indexOf('\n'))) as ShopReady
  const pages = shop.channels.reduce((sum, channel) => sum + channel.pages, 0)
  const names = shop.channels.map((channel) => `${channel.name} (${channel.url}/)`).join(' and ')
  write(
    `A demo shop with ${pages} pages runs at ${shop.url}.\nIt answers a cache like Shopware ${version}. The public URLs of its two storefronts are\n${names}.\n`,
  )

  await writeFile(join(directory, 'pagecache.yaml'), renderConfig(url, shop))
  write('\n$ pagecache serve\n')
  await workspace.start([join(root, 'bin/run.js'), 'serve'], signal, () => isReady(url))
  write(`The cache in front of it runs at ${url}.\n`)
  return { ...options, workspace, directory, shop, url, token }
}

/** The pagecache.yaml of the demo; JSON is valid YAML. */
function renderConfig(url: string, shop: ShopReady): string {
  const salesChannels = shop.channels.map((channel) => ({
    id: channel.id,
    name: channel.name,
    url: channel.url,
    origin: shop.url,
    sitemaps: [`${channel.url}/sitemap.xml`],
  }))
  const server = { host: '127.0.0.1', port: Number(new URL(url).port) }
  return `${JSON.stringify({ server, shop: 'shopware', salesChannels, warmup: { concurrency: 8 } }, null, 2)}\n`
}

/** Runs a pagecache command and shows it with its output. */
async function show(setup: Setup, argv: readonly string[]): Promise<void> {
  setup.write(`\n$ pagecache ${argv.join(' ')}\n`)
  await setup.workspace.run([join(setup.root, 'bin/run.js'), ...argv], setup.signal, setup.output)
}

/** Waits until hits appear in the statistics: the daemon counts them in memory and writes them every few seconds. */
async function awaitCountedHits({ workspace, root, signal }: Setup): Promise<void> {
  const deadline = performance.now() + 15_000
  for (;;) {
    signal.throwIfAborted()
    const statistics = JSON.parse(
      await workspace.read([join(root, 'bin/run.js'), 'cache:stats', '--json']),
    ) as Statistics
    if (statistics.aggregated.avgCacheHitTime > 0) return
    if (performance.now() > deadline)
      throw new PagecacheError('CHECK_FAILED', 'The statistics do not include a hit after 15 s.')
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

/** Logs in, fills a basket, and shows that neither affects the pages of other visitors. */
async function showVisitors(setup: Setup): Promise<void> {
  const { url, write } = setup
  const [ada, anonymous] = [new Browser(), new Browser()]
  const say = (who: string, visit: PageVisit) =>
    write(`  ${who.padEnd(34)}${String(visit.headers['cache-status'] ?? 'no Cache-Status')}\n`)
  try {
    write(
      '\nPrivate pages are never cached, and prices of a customer group are for that group (Cache-Status of each response):\n',
    )
    const before = await anonymous.get(`${url}/`)
    say('Home page, anonymous', before)
    await ada.post(`${url}/account/login`, { username: 'ada@dealers.example', password: 'demo' })
    const own = await ada.get(`${url}/`)
    say('Home page, Ada logged in', own)
    const product = await ada.get(url + (await findProduct(setup, ada)))
    const productId = /name="productId" value="(\w+)"/.exec(product.text)?.[1] ?? ''
    await ada.post(`${url}/checkout/line-item/add`, { productId })
    const basket = await ada.get(`${url}/checkout/cart`)
    say('Basket, Ada', basket)
    const account = await ada.get(`${url}/account`)
    say('Account, Ada', account)
    const after = await anonymous.get(`${url}/`)
    say('Home page, anonymous again', after)
    assertHit(before, true, 'the home page for an anonymous visitor')
    assertHit(own, false, 'the home page for a logged-in visitor')
    assertHit(account, false, 'an account')
    assertHit(basket, false, 'a basket')
    assertHit(after, true, 'the home page for an anonymous visitor')
    const isOwn = account.text.includes('Hello Ada') && own.text.includes('Prices for dealers')
    if (!isOwn || before.text !== after.text || after.text.includes('dealers')) {
      throw new PagecacheError('CHECK_FAILED', 'A visitor got a private page of another visitor.')
    }
    write('Only Ada read "Hello Ada", and only she saw the prices for dealers.\n')
  } finally {
    ada.close()
    anonymous.close()
  }
}

/** Throws unless a response came from the cache (`hit`) or from the shop. */
function assertHit(visit: PageVisit, hit: boolean, what: string): void {
  const status = String(visit.headers['cache-status'] ?? '')
  if (visit.status === 200 && /(?:^|;\s*)hit(?:;|$)/.test(status) === hit) return
  throw new PagecacheError(
    'CHECK_FAILED',
    `Expected ${hit ? 'a hit' : 'no hit'} for ${what}; got ${visit.status}, Cache-Status: ${status || 'none'}.`,
  )
}

async function keepOpen(setup: Setup): Promise<void> {
  const { program, url, directory, signal } = setup
  setup.write(`
Shop and cache keep running until Ctrl-C. Things to try:
  open ${url}/ or ${url}/de/ in a browser
  log in with any e-mail address and the password "demo"; addresses @dealers.example get other prices
  change a price in the shop, which purges it; the product's ID is in its tags (cache:inspect):
    curl -X PATCH ${setup.shop.url}/api/product/ID -d '{"price":4200}' \\
      -H 'Authorization: Bearer ${setup.token}' -H 'sw-force-cache-invalidate: 1'
  run any command against the cache from another terminal:
    ${program} cache:list --type listings --project-dir ${directory}
    ${program} vendor:cache:clear --type products --project-dir ${directory}
  watch it in the terminal:
    ${program} monitor --project-dir ${directory}
  see its operators' page at ${url}/admin; this makes a client to log in with:
    ${program} client:create operator --project-dir ${directory}
`)
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

async function isReady(url: string): Promise<boolean> {
  return await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
    async (response) => (await response.arrayBuffer(), response.ok),
    () => false,
  )
}

/**
 * Checks that a port of 127.0.0.1 is free, or finds a free one (0): the shop needs the cache's address before the cache starts.
 * Throws LISTEN_FAILED if the port is taken.
 */
async function findFreePort(wanted: number): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => probe.once('error', reject).listen(wanted, '127.0.0.1', resolve)).catch(
    (error: NodeJS.ErrnoException) => {
      const hint = 'Choose another port with --port, or omit it to use any free port.'
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
