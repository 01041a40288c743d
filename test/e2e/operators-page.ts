import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { type ApiClient, bearer, createClient, fetchToken, jsonOf } from '../helpers/api-client.ts'
import { hasChromium, openChromium } from '../helpers/chromium.ts'
import { type Daemon, startDaemon } from '../helpers/daemon.ts'
import { type Answer, exchange } from '../helpers/exchange.ts'
import { type Origin, startOrigin } from '../helpers/origin.ts'

export { hasChromium }

export const product = 'product-9e03c250dbdd48e799aece23bfc44c19'

export const views = ['Overview', 'Warmup', 'Purges', 'Pages', 'Queue and tasks', 'Popup stages']

let browser: Browser

export let origin: Origin

export let daemon: Daemon

export let operator: ApiClient

export let reader: ApiClient

/** Starts a daemon, clients and a browser for all tests of the file that calls it. */
export function useOperatorsPage(): void {
  beforeAll(async () => {
    origin = await startOrigin()
    daemon = await startDaemon({
      config: (url) => ({
        trustedProxies: ['127.0.0.1'],
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
    if (hasChromium) browser = await openChromium()
  })

  afterAll(async () => {
    await browser?.close()
    await daemon?.stop()
    await origin?.stop()
  })
}

export interface OpenSession {
  cookie: { name: string; value: string }
  /** The Set-Cookie line. */
  line: string
  /** The fields of a request of the page. */
  headers: Record<string, string>
  answer: Answer
}

/** Logs a client in as the page does, without a browser. */
export async function openSession(client: ApiClient, more: Record<string, string> = {}): Promise<OpenSession> {
  const token = await fetchToken(daemon.url, client)
  const answer = await exchange(`${daemon.url}/admin/session`, {
    method: 'POST',
    headers: { ...bearer(token), ...more },
  })
  const line = answer.headers.get('set-cookie') ?? ''
  const [name = '', value = ''] = line.split(';')[0]!.split('=')
  const { session } = jsonOf(answer) as { session: { csrfToken: string } }
  const headers = { cookie: `${name}=${value}`, 'x-csrf-token': session.csrfToken, ...more }
  return { cookie: { name, value }, line, headers, answer }
}

/** Opens the page in a new browser context, with the session of a client if there is one. The test fails on a page error or a request to another host. */
export async function open(options: BrowserContextOptions = {}, client: ApiClient | null = null): Promise<Page> {
  const context = await browser.newContext(options)
  // Only ends what hangs, like `until`.
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on(
    'console',
    (message) =>
      message.type() === 'error' &&
      !/status of 40[0139]|ERR_FAILED/.test(message.text()) &&
      faults.push(message.text()),
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
  if (client !== null) {
    const { name, value } = (await openSession(client)).cookie
    await context.addCookies([{ name, value, url: daemon.url, httpOnly: true, sameSite: 'Strict' }])
  }
  await page.goto(`${daemon.url}/admin`)
  if (client !== null) await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  return page
}

export async function logIn(page: Page, client = operator): Promise<void> {
  await page.getByLabel('Client ID').fill(client.clientId)
  await page.getByLabel('Client secret').fill(client.clientSecret)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
}

export async function go(page: Page, view: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name: view, exact: true }).click()
  await page.getByRole('heading', { name: view, level: 1 }).waitFor()
}
