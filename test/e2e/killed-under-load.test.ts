import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { expect, it, onTestFinished } from 'vitest'
import { freePort, startDaemon } from '../helpers/daemon.ts'
import { startOrigin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

/** Each page is tagged with one of them. */
const products = range(8)
const visitors = range(24)

function range(length: number): number[] {
  return Array.from({ length }, (_, n) => n)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0)
}

/** A shop whose pages say how often their product was changed. */
async function startShop() {
  const changes = products.map(() => 0)
  const shop = await startOrigin({
    otherwise({ path }) {
      const [, product = ''] = path.split('/')
      const headers = { 'cache-control': 's-maxage=3600', 'content-type': 'text/html', xkey: `product-${product}` }
      return { headers, body: `${changes[Number(product)]} ${'x'.repeat(500)}` }
    },
  })
  onTestFinished(() => shop.stop())
  return { url: shop.url, change: (product: number) => (changes[product] = changes[product]! + 1) }
}

it('a daemon that is killed among misses and purges has lost no acknowledged purge, and serves no page from before one', async () => {
  const shop = await startShop()
  const [projectDir, port] = [await tempDir(), await freePort()]
  /** The changes of each product whose purge was acknowledged. */
  const purged = products.map(() => 0)
  const outdated: string[] = []

  /** Resolves to whether the page was in the cache. */
  async function visit(pool: Pool, path: string): Promise<boolean> {
    const least = purged[Number(path.split('/')[1])]!
    const { statusCode, headers, body } = await pool.request({ path, method: 'GET' })
    const [version] = (await body.text()).split(' ')
    if (statusCode === 200 && Number(version) < least) outdated.push(`${path}: ${version}, not ${least}`)
    return String(headers['cache-status']).includes('; hit')
  }
  async function change(pool: Pool, product: number): Promise<void> {
    const changed = shop.change(product)
    const headers = { xkey: `product-${product}` }
    const { statusCode, body } = await pool.request({ path: '/', method: 'PURGE', headers })
    await body.dump()
    if (statusCode === 200) purged[product] = changed
  }
  /** Several products at a time: their purges share a transaction. */
  async function changeForEver(pool: Pool): Promise<void> {
    for (;;) {
      await pause(Math.random() * 200)
      await Promise.all(products.filter(() => Math.random() < 0.4).map((product) => change(pool, product)))
    }
  }

  const paths: string[] = []
  let hits = 0
  async function browseForEver(pool: Pool, visitor: number): Promise<void> {
    for (let n = 0; ; n += 1) {
      const path = `/${(visitor + n) % products.length}/${visitor}-${paths.length}`
      paths.push(path)
      await visit(pool, path)
      if (n % 3 === 0) await visit(pool, path)
    }
  }

  for (let kills = 0; ; kills += 1) {
    const daemon = await startDaemon({ projectDir, port, args: ['--origin', shop.url] })
    const pool = new Pool(daemon.url, { connections: 40 })
    onTestFinished(async () => void (await Promise.all([daemon.stop(), pool.destroy()])))
    const last = paths.splice(0).slice(-1_000)
    const visits = await Promise.all(last.map((path) => visit(pool, path)))
    hits += visits.filter(Boolean).length
    if (kills === 5) break
    const before = sum(purged)
    const traffic = [...visitors.map((visitor) => browseForEver(pool, visitor)), changeForEver(pool)]
    const over = Promise.allSettled(traffic)
    await until(() => paths.length > 500 && sum(purged) > before + products.length)
    await pause(Math.random() * 200)
    daemon.kill('SIGKILL')
    await daemon.ended
    await pool.destroy()
    await over
  }
  expect(outdated).toEqual([])
  // Otherwise the pages of the killed processes would not have been tested.
  expect(hits).toBeGreaterThan(50)
})
