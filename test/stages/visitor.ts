import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { eventTypes, type StageContent, type StageFields } from '../../src/stages/stage.ts'
import { hasChromium, openChromium } from '../helpers/chromium.ts'
import { until } from '../helpers/until.ts'
import { type OpenStorefront, settings, shareStorefronts, startStorefront, type Storefront } from './storefront.ts'

export { hasChromium }

export const html = `<!doctype html><html lang="en"><head><title>Shoes</title></head><body>
<h1>Shoes</h1><a id="first" href="/other">other</a><div style="height:3000px"></div><h2 id="far">Far below</h2>
<script src="/vendor-stage/client.js" data-page-type="product" defer></script></body></html>`

export const content: StageContent = {
  headline: 'Summer sale',
  html: null,
  text: 'Everything must go.',
  callToAction: { label: 'To the sale', action: 'url', url: '/other', selector: null },
  dismissLabel: "Don't show again",
  closeLabel: 'Close',
}

export interface Visit {
  shop: Storefront
  page: Page
  /** Opens the page and waits until a stage is shown. */
  open(): Promise<void>
  /** Opens the page and waits until a stage is shown and its impression recorded. */
  see(): Promise<void>
  /** The recorded events, impressions first, once there are this many. */
  recorded(count: number): Promise<string[]>
  faults: string[]
}

interface VisitOptions {
  csp?: string
  init?: string
  page?: string
  /** The configuration section `stages`. */
  config?: Record<string, unknown>
}

/** Opens a browser for the tests of a file. The returned function opens a visitor with separate cookies. */
export function openBrowser(): (stages?: Partial<StageFields>[], options?: VisitOptions) => Promise<Visit> {
  let browser: Browser
  const openStorefront = shareStorefronts()
  beforeAll(async () => {
    if (hasChromium) browser = await openChromium()
  })
  afterAll(() => browser?.close())
  return (stages = [{}], options = {}) => visit(browser, openStorefront, stages, options)
}

/** A visitor of a shop with these stages, whose pages are served from the cache. */
async function visit(
  browser: Browser,
  openStorefront: OpenStorefront,
  stages: Partial<StageFields>[],
  options: VisitOptions,
): Promise<Visit> {
  const shop = await (options.config === undefined ? openStorefront() : startStorefront(options.config))
  await (await shop.app.pages()).remove({ kind: 'all' })
  const headers = {
    'content-type': 'text/html',
    'cache-control': 'public, s-maxage=600',
    ...(options.csp === undefined ? {} : { 'content-security-policy': options.csp }),
  }
  shop.origin.otherwise({ status: 200, headers, body: options.page ?? html })
  for (const fields of stages) await shop.stage({ ...settings, content, ...fields })
  const context = await browser.newContext()
  // Only ends what hangs, like `until`.
  context.setDefaultTimeout(60_000)
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on(
    'console',
    (message) => message.type() === 'error' && !message.text().includes('favicon') && faults.push(message.text()),
  )
  if (options.init !== undefined) await page.addInitScript(options.init)
  const open = async () => {
    await page.goto(`${shop.url}/shoes`)
    await page.locator('vendor-stage dialog[open]').waitFor()
  }
  const atLeast = (count: number) => until(async () => (await shop.events()).length >= count)
  return {
    shop,
    page,
    faults,
    open,
    async see() {
      const before = (await shop.events()).length
      await open()
      await atLeast(before + 1)
    },
    async recorded(count) {
      await atLeast(count)
      // Any further event was sent before this request, and is written before it is answered.
      await page.evaluate("fetch('/vendor-stage/active').then((answer) => answer.text())")
      // Beacons may arrive out of order.
      return (await shop.events())
        .map((event) => event.event_type)
        .toSorted((a, b) => eventTypes.indexOf(a) - eventTypes.indexOf(b))
    },
  }
}

/** Long enough for the browser to check whether the stage is in view. */
export const twoFrames = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))'

export const stage = (page: Page) => page.locator('vendor-stage dialog')
