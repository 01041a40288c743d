import type { ServerResponse } from 'node:http'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createClient, type ApiClient } from '../helpers/api-client.ts'
import { startDaemon, type Daemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { installed } from '../helpers/rivals.ts'
import { until } from '../helpers/until.ts'

const hasChromium = installed('chromium')
const product = 'product-9e03c250dbdd48e799aece23bfc44c19'
const views = ['Overview', 'Warmup', 'Purges', 'Pages', 'Queue and tasks', 'Popup stages']

let browser: Browser
let origin: Origin
let daemon: Daemon
let operator: ApiClient
let reader: ApiClient

beforeAll(async () => {
  origin = await startOrigin()
  daemon = await startDaemon({
    config: (url) => ({
      salesChannels: [{ id: '0190c0de-0000-7000-8000-000000000001', name: 'Storefront', url, origin: origin.url }],
    }),
  })
  const page = (name: string) => ({
    headers: { 'content-type': 'text/html', 'cache-control': 's-maxage=600', xkey: product },
    body: `<h1>${name}</h1>`,
  })
  for (const path of ['/a', '/b', '/c']) origin.on(path, page(path))
  origin.on('/admin/admin.js', { body: 'the shop’s own' })
  origin.on('/sitemap.xml', {
    body: `<urlset>${['/a', '/b', '/c', '/gone'].map((path) => `<url><loc>${daemon.url}${path}</loc></url>`).join('')}</urlset>`,
  })
  operator = await createClient(daemon, 'operator', 'write')
  reader = await createClient(daemon, 'reader', 'read')
  if (hasChromium) browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
})

afterAll(async () => {
  await browser?.close()
  await daemon?.stop()
  await origin?.stop()
})

/** The page in a browser of its own; the test fails on an error in it, or where it asks anybody but its daemon. */
async function open(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on(
    'console',
    (message) =>
      message.type() === 'error' && !/status of 40[0139]/.test(message.text()) && faults.push(message.text()),
  )
  page.on(
    'request',
    (request) =>
      !request.url().startsWith(daemon.url) && !request.url().startsWith('data:') && faults.push(request.url()),
  )
  onTestFinished(async () => {
    await context.close()
    expect(faults).toEqual([])
  })
  await page.goto(`${daemon.url}/admin`)
  return page
}

async function logIn(page: Page, client = operator): Promise<void> {
  await page.getByLabel('Client id').fill(client.clientId)
  await page.getByLabel('Client secret').fill(client.clientSecret)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
}

async function go(page: Page, view: string): Promise<void> {
  await page.getByRole('link', { name: view }).click()
  await page.getByRole('heading', { name: view, level: 1 }).waitFor()
}

describe('what is served at /admin', () => {
  it('may load nothing from elsewhere, run nothing inline, and stand in no frame', async () => {
    const { status, headers } = await exchange(`${daemon.url}/admin`)
    expect(status).toBe(200)
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    )
    expect([
      headers.get('x-content-type-options'),
      headers.get('x-frame-options'),
      headers.get('referrer-policy'),
    ]).toEqual(['nosniff', 'DENY', 'no-referrer'])
  })

  it('is not sent again to who has it, leads from /admin/ to /admin, and takes no other method', async () => {
    const { headers } = await exchange(`${daemon.url}/admin/admin.js`)
    expect(
      (await exchange(`${daemon.url}/admin/admin.js`, { headers: { 'if-none-match': headers.get('etag')! } })).status,
    ).toBe(304)
    const moved = await exchange(`${daemon.url}/admin/`)
    expect([moved.status, moved.headers.get('location')]).toEqual([308, '/admin'])
    const posted = await exchange(`${daemon.url}/admin`, { method: 'POST' })
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it('is the shop’s own under a channel’s public name', async () => {
    const shop = await startDaemon({ args: ['--origin', origin.url, '--url', 'http://shop.example'] })
    onTestFinished(async () => void (await shop.stop()))
    const seen = await exchange(`${shop.url}/admin/admin.js`, { headers: { host: 'shop.example' } })
    expect(seen.body.toString()).toBe('the shop’s own')
    expect((await exchange(`${shop.url}/admin/admin.js`)).body.toString()).not.toBe('the shop’s own')
  })
})

describe.skipIf(!hasChromium)('the operators’ page in Chromium (skipped where chromium is not installed)', () => {
  it('lets nobody in with a wrong secret, and says so', async () => {
    const page = await open()
    await page.getByLabel('Client id').fill(operator.clientId)
    await page.getByLabel('Client secret').fill('wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await until(async () => expect(await page.getByRole('alert').textContent()).toMatch(/\w/))
    expect(await page.getByRole('navigation').count()).toBe(0)
  })

  it('warms the shop up, tells what failed, and purges what it shows', { timeout: 60_000 }, async () => {
    const page = await open()
    await logIn(page)
    await go(page, 'Warmup')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('Started with 4 URLs.').waitFor()
    await page.getByText('completed').first().waitFor({ timeout: 30_000 })
    await page.getByRole('cell', { name: `${daemon.url}/gone` }).waitFor()

    await go(page, 'Pages')
    await page.getByRole('cell', { name: `${daemon.url}/a`, exact: true }).waitFor()
    await page.getByLabel('URL of the page').fill(`${daemon.url}/a`)
    await page.getByText('cached', { exact: true }).waitFor()

    await go(page, 'Purges')
    await page.getByLabel('Tags or URLs').fill(product)
    await page.getByRole('button', { name: 'Purge' }).click()
    await page.getByText('3 pages removed.').waitFor()
    await page.getByLabel('URL of the page').fill(`${daemon.url}/a`)
    await page
      .getByRole('region', { name: /Purges of .*\/a/ })
      .getByText(product)
      .waitFor()
    await page.getByLabel('Id or product number').fill(product.slice('product-'.length))
    await page
      .getByRole('region', { name: /Purges of product/ })
      .getByText(product)
      .waitFor()
    const { stdout } = await daemon.run('invalidation-log:recent', '--json')
    expect((JSON.parse(stdout) as { items: unknown[] }).items[0]).toMatchObject({
      source: 'api',
      actor: operator.clientId,
      value: product,
    })

    expect((await exchange(`${daemon.url}/a`)).status).toBe(200)
    await page.getByRole('combobox').first().selectOption('urls')
    await page.getByLabel('Tags or URLs').fill(`${daemon.url}/a`)
    await page.getByRole('button', { name: 'Purge' }).click()
    await page.getByText('1 page removed.').waitFor()
  })

  it('asks before it clears, and shows what the daemon says then', async () => {
    expect((await exchange(`${daemon.url}/a`)).status).toBe(200)
    const page = await open()
    await logIn(page)
    await until(async () =>
      expect(
        await page
          .locator('.figure', { has: page.getByText('Misses') })
          .getByRole('definition')
          .textContent(),
      ).toMatch(/^[1-9]/),
    )
    const pages = page.locator('.figure', { has: page.getByText('Pages', { exact: true }) }).getByRole('definition')
    await until(async () => expect(await pages.textContent()).not.toBe('0'))
    await page.getByRole('button', { name: 'Clear all pages' }).click()
    await page.getByRole('button', { name: 'Keep as it is' }).click()
    expect(await pages.textContent()).not.toBe('0')
    await page.getByRole('button', { name: 'Clear all pages' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Clear all pages' }).click()
    await page.getByText(/^\d+ files? removed\.$/).waitFor()
    await until(async () => expect(await pages.textContent()).toBe('0'))
  })

  it('pauses, resumes and cancels a warmup by the keyboard, and the focus stays', { timeout: 60_000 }, async () => {
    const held: ServerResponse[] = []
    origin.on('/held', (_, response) => void held.push(response))
    onTestFinished(() => held.forEach((response) => response.end()))
    origin.on('/sitemap.xml', { body: `<urlset><url><loc>${daemon.url}/held</loc></url></urlset>` })
    const page = await open()
    await logIn(page)
    await go(page, 'Warmup')
    await page.getByRole('button', { name: 'Start' }).press('Enter')
    await page.getByRole('status').getByText('running').waitFor()
    const focused = () => page.evaluate('document.activeElement.textContent')
    for (const [label, state, next] of [
      ['Pause', 'paused', 'Resume'],
      ['Resume', 'running', 'Pause'],
    ] as const) {
      await page.getByRole('button', { name: label, exact: true }).press('Enter')
      await page.getByRole('status').getByText(state).waitFor()
      await until(async () => expect(await focused()).toBe(next))
    }
    await page.getByRole('button', { name: 'Cancel', exact: true }).press('Enter')
    await page.keyboard.press('Escape')
    await until(async () => expect(await focused()).toBe('Cancel'))
    await page.getByRole('button', { name: 'Cancel', exact: true }).press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).press('Enter')
    await page.getByRole('status').getByText('cancelled').waitFor()
  })

  it('makes a popup stage, shows its statistics, changes it and deletes it', async () => {
    const page = await open()
    await logIn(page)
    await go(page, 'Popup stages')
    await page.getByRole('button', { name: 'New stage' }).click()
    await page.getByLabel('Name').fill('Summer')
    await page.getByLabel('Headline').fill('Summer sale')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Statistics of Summer' }).waitFor()
    await page.getByRole('button', { name: 'Edit Summer' }).click()
    await page.getByLabel('Max views per session').fill('3')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('always, max 3 per session').waitFor()
    await page.getByRole('button', { name: 'Edit Summer' }).click()
    await page.getByLabel('Content as text').fill('Everything must go.')
    await page.getByLabel('Page types').fill('product, cms,')
    await page.getByLabel('Retention').fill('')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('retentionDays: expected a whole number').waitFor()
    await page.getByLabel('Retention').fill('1')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('a day', { exact: true }).waitFor()
    const offered = (await exchange(`${daemon.url}/vendor-stage/active?pageType=cms`)).body.toString()
    expect(offered).toContain('Everything must go.')
    await page.getByRole('button', { name: 'Edit Summer' }).click()
    expect([
      await page.getByLabel('Content as text').inputValue(),
      await page.getByLabel('Page types').inputValue(),
    ]).toEqual(['Everything must go.', 'product, cms'])
    await page.getByRole('button', { name: 'Delete stage and events' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete stage and events' }).click()
    await page.getByText('No stages yet.').waitFor()
    await page.getByRole('button', { name: 'New stage' }).click()
    await page.getByLabel('Name').fill('Winter')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Delete stage, keep events' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete stage, keep events' }).click()
    await page.getByText('No stages yet.').waitFor()
  })

  it('shows a client that may only read what it may not do', async () => {
    const page = await open()
    await logIn(page, reader)
    await go(page, 'Warmup')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('This client may only read.').waitFor()
  })

  it('keeps secret and token in memory alone: a reload forgets them', async () => {
    const page = await open()
    await logIn(page)
    const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])')
    expect(kept).toBe('[{},{},""]')
    expect(page.url()).not.toContain(operator.clientId)
    await page.reload()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
  })

  it('of a client that was revoked says so, and does not use up the failed logins of its address', async () => {
    const leaver = await createClient(daemon, 'leaver')
    const page = await open()
    await logIn(page, leaver)
    const refused: string[] = []
    page.on(
      'response',
      (response) => response.url().endsWith('/api/oauth/token') && refused.push(String(response.status())),
    )
    await daemon.run('client:revoke', leaver.clientId, '--yes')
    for (const view of ['Overview', 'Warmup', 'Queue and tasks']) {
      await go(page, view)
      await page.getByText('This client may not log in any more: log out.').first().waitFor()
    }
    expect(refused).toEqual(['401'])
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
  })

  it('is walked through with the keyboard, each field and button with a name', async () => {
    const page = await open()
    await until(async () => expect(await page.evaluate('document.activeElement.name')).toBe('id'))
    await page.keyboard.type(operator.clientId)
    await page.keyboard.press('Tab')
    await page.keyboard.type(operator.clientSecret)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await until(async () => expect(await page.evaluate('document.activeElement.textContent')).toBe('Overview'))
    for (const view of views) {
      await page.getByRole('link', { name: view }).focus()
      await page.keyboard.press('Enter')
      await until(async () => expect(await page.evaluate('document.activeElement.textContent')).toBe(view))
      const nameless = await page.evaluate(
        `[...document.querySelectorAll('input, select, textarea, button')].filter((element) => !(element.labels?.length || element.getAttribute('aria-label') || element.textContent.trim())).length`,
      )
      expect(nameless, view).toBe(0)
    }
  })

  it('is drawn in light and dark, wide and narrow, with nothing cut off', async () => {
    const drawn = new Set<string>()
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1280, 380]) {
        const page = await open({ colorScheme, viewport: { width, height: 900 } })
        await logIn(page)
        await page.locator('canvas').waitFor()
        drawn.add((await page.screenshot()).toString('base64'))
        for (const view of views) {
          await go(page, view)
          expect(
            await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
            `${view} at ${width}`,
          ).toBeLessThanOrEqual(0)
        }
        const [ink, paper] = (await page.evaluate(
          '[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]',
        )) as [string, string]
        expect(lightness(ink) < lightness(paper)).toBe(colorScheme === 'light')
      }
    }
    expect(drawn.size).toBe(4)
  })

  it.each([1280, 380])('the page of the API is drawn with nothing cut off at %i', async (width) => {
    const page = await open({ viewport: { width, height: 900 } })
    await page.goto(`${daemon.url}/api/_info/docs`)
    await page.getByRole('heading', { name: 'warmup/start' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  })
})

function lightness(colour: string): number {
  return [...colour.matchAll(/\d+/g)].slice(0, 3).reduce((sum, [part]) => sum + Number(part), 0)
}
