import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { openPreviews } from '../../src/auth/previews.ts'
import { defaultLook, defaultTrigger, type StageTrigger } from '../../src/stages/look.ts'
import { listStages } from '../../src/stages/stages.ts'
import { exchange } from '../helpers/exchange.ts'
import { until } from '../helpers/until.ts'
import { content, hasChromium, html, openBrowser, stage, twoFrames } from './visitor.ts'

const visit = openBrowser()

describe.skipIf(!hasChromium)(`stages in Chromium${hasChromium ? '' : ' (no chromium on this machine)'}`, () => {
  it('opens on the first of its triggers, and not before', async () => {
    const late = (headline: string, trigger: Partial<StageTrigger>) => ({
      trigger: { ...defaultTrigger, ...trigger },
      content: { ...content, headline },
    })
    const { shop, page, recorded } = await visit([
      late('At the end', { scroll: 100, delay: 3600 }),
      late('Leaving', { exitIntent: true, delay: 3600 }),
      {},
    ])
    await page.goto(`${shop.url}/shoes`)
    // Stages that wait do not hold up the others.
    await stage(page).getByText('Summer sale').waitFor()
    await page.keyboard.press('Escape')
    const leave = (y: number, buttons: number) =>
      page.evaluate(
        `document.documentElement.dispatchEvent(new MouseEvent('mouseleave', { clientY: ${y}, buttons: ${buttons} }))`,
      )
    await leave(300, 0)
    await leave(-1, 1)
    await page.evaluate('scrollTo(0, 500)')
    expect(await recorded(2)).toEqual(['impression', 'close'])
    expect(await stage(page).count()).toBe(0)
    await leave(-1, 0)
    await stage(page).getByText('Leaving').waitFor()
    await page.keyboard.press('Escape')
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    await stage(page).getByText('At the end').waitFor()
    expect(await recorded(5)).toEqual(['impression', 'impression', 'impression', 'close', 'close'])
  })

  it('opens after its delay', async () => {
    const { see, recorded } = await visit([{ trigger: { ...defaultTrigger, delay: 1 } }])
    await see()
    expect(await recorded(1)).toEqual(['impression'])
  })

  it('does not open a stage whose time window has ended while it waited', async () => {
    const { shop, page } = await visit([
      { trigger: { ...defaultTrigger, scroll: 50 }, until: new Date(Date.now() + 3_600_000).toISOString() },
    ])
    const asked = page.waitForResponse(/active/)
    await page.goto(`${shop.url}/shoes`)
    expect(await (await asked).json()).toMatchObject({ total: 1 })
    await page.evaluate('const now = Date.now; Date.now = () => now() + 3_600_001')
    await page.evaluate('scrollTo(0, document.body.scrollHeight)')
    await page.evaluate(twoFrames)
    await page.evaluate(twoFrames)
    expect(await stage(page).count()).toBe(0)
  })

  it('removes a stage whose time window has ended when the visitor comes back to its page', async () => {
    const { page, see, recorded } = await visit([{ until: new Date(Date.now() + 3_600_000).toISOString() }])
    await see()
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    expect(await stage(page).count()).toBe(1)
    await page.evaluate('const now = Date.now; Date.now = () => now() + 3_600_001')
    await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    await stage(page).waitFor({ state: 'detached' })
    expect(await recorded(1)).toEqual(['impression'])
  })

  const style = (page: Page, what: string) =>
    page.evaluate(
      `(() => { const dialog = document.querySelector('vendor-stage').shadowRoot.querySelector('dialog'); const style = (part) => getComputedStyle(dialog.querySelector(part)); return ${what} })()`,
    )

  it('has the colour, font and image of its look, under a strict content security policy', async () => {
    const look = { ...defaultLook, accent: '#ffcc00', font: '"Inter", serif', image: '/a.svg', imageAlt: 'Sun' }
    const { shop, page, see, faults } = await visit([{ look }], {
      csp: "default-src 'self'; script-src 'self'; style-src 'self'",
      page: html.replace(' style="height:3000px"', ''),
    })
    const picture = '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="9"/>'
    const headers = { 'content-type': 'image/svg+xml', 'cache-control': 's-maxage=600' }
    shop.origin.on('/a.svg', { status: 200, headers, body: picture })
    await see()
    expect(await style(page, "[style('.cta').backgroundColor, style('.cta').color, style('p').fontFamily]")).toEqual([
      'rgb(255, 204, 0)',
      'rgb(0, 0, 0)',
      'Inter, serif',
    ])
    await stage(page).getByRole('img', { name: 'Sun' }).waitFor()
    expect(faults).toEqual([])
    // Chromium asks for images with an Accept that may be shared with other visitors.
    const cached = { headers: { 'cache-control': 'only-if-cached' } }
    await until(async () => (await exchange(`${shop.url}/a.svg`, cached)).status === 200)
  })

  it('begins Arabic at the right, and other text at the left', async () => {
    const arabic = 'تخفيضات الصيف'
    const { page, see } = await visit([{ content: { ...content, headline: arabic, text: `Sale\n${arabic}` } }])
    await see()
    const gaps = (part: string) =>
      page.evaluate(
        `(() => { const box = document.querySelector('vendor-stage').shadowRoot.querySelector('${part}'); const range = document.createRange(); range.selectNodeContents(box); const place = box.getBoundingClientRect(); return [...range.getClientRects()].filter(({ width }) => width > 1).map(({ left, right }) => left - place.left > place.right - right ? 'right' : 'left') })()`,
      )
    expect([await gaps('h2'), await gaps('p')]).toEqual([['right'], ['left', 'right']])
  })

  it('follows custom properties of the shop where its look says nothing, and leaves out an image that is missing', async () => {
    const { shop, page, see } = await visit([{ look: { ...defaultLook, image: '/none.png' } }], {
      page: html.replace('<body>', '<body style="--vendor-stage-accent: #102030; --vendor-stage-font: Georgia">'),
    })
    shop.origin.on('/none.png', { status: 404, body: 'none' })
    await see()
    await until(async () => (await style(page, "dialog.querySelectorAll('img').length")) === 0)
    expect(await style(page, "[style('.cta').backgroundColor, style('.cta').color, style('p').fontFamily]")).toEqual([
      'rgb(16, 32, 48)',
      'rgb(255, 255, 255)',
      'Georgia',
    ])
  })

  it('is dark and plays its entrance as its look and the system of the visitor say', async () => {
    const look = { ...defaultLook, entrance: 'slide', scheme: 'auto' } as const
    const { page, see } = await visit([{ look }])
    const seen = async (colorScheme: 'light' | 'dark', reducedMotion: 'reduce' | 'no-preference') => {
      await page.emulateMedia({ colorScheme, reducedMotion })
      await see()
      return style(page, '[getComputedStyle(dialog).backgroundColor, getComputedStyle(dialog).animationName]')
    }
    expect(await seen('light', 'no-preference')).toEqual(['rgb(255, 255, 255)', 's'])
    expect(await seen('dark', 'reduce')).toEqual(['rgb(29, 36, 34)', 'none'])
  })

  it.each(['corner', 'bar'] as const)('leaves the page usable behind a %s, and closes on Escape', async (position) => {
    const { page, open, recorded } = await visit([{ look: { ...defaultLook, position } }])
    await open()
    expect(await page.evaluate("document.querySelector('vendor-stage').shadowRoot.activeElement.localName")).toBe(
      'dialog',
    )
    await page.mouse.click(300, 200)
    expect(await recorded(1)).toEqual(['impression'])
    expect(await stage(page).count()).toBe(1)
    await stage(page).focus()
    await page.keyboard.press('Escape')
    await stage(page).waitFor({ state: 'detached' })
    expect(await recorded(2)).toEqual(['impression', 'close'])
  })

  it('is shown by a preview link at once and in full, and counts nothing', async () => {
    const { shop, page, faults } = await visit([{}, { active: false, content: { ...content, headline: 'Draft' } }])
    const [, draft] = (await listStages(shop.records, { limit: 2, offset: 0 })).items
    const { token } = await (await openPreviews(shop.app)).sign(draft!.id, null)
    const sent: string[] = []
    page.on('request', (request) => sent.push(new URL(request.url()).pathname))
    await page.goto(`${shop.url}/shoes#vendor-stage-preview=${token}`)
    await stage(page).getByText('Draft').waitFor()
    expect(shop.origin.requests.filter(({ url }) => url.includes('preview'))).toEqual([])
    await stage(page).getByText("Don't show again").click()
    await stage(page).waitFor({ state: 'detached' })
    await page.evaluate("fetch('/vendor-stage/active').then((answer) => answer.text())")
    expect(sent.filter((path) => path.startsWith('/vendor-stage/'))).toEqual([
      '/vendor-stage/client.js',
      '/vendor-stage/preview',
      '/vendor-stage/active',
    ])
    expect(await shop.events()).toEqual([])
    expect([
      await page.context().cookies(),
      await page.evaluate('localStorage.length + sessionStorage.length'),
    ]).toEqual([[], 0])
    await page.evaluate("location.hash = '#vendor-stage-preview=a.b.c'")
    await stage(page).getByText('This preview link is no longer valid').waitFor()
    await page.keyboard.press('Escape')
    await stage(page).waitFor({ state: 'detached' })
    expect(await shop.events()).toEqual([])
    expect(faults.filter((fault) => !fault.includes('403'))).toEqual([])
  })

  it('works under a strict content security policy, and included twice', async () => {
    const page = html.replace('</body>', '<script src="/vendor-stage/client.js" async></script></body>')
    const visitor = await visit([{}], {
      csp: "default-src 'self'; script-src 'self'; style-src 'self'",
      page: page.replace(' style="height:3000px"', ''),
    })
    await visitor.see()
    expect(
      await visitor.page.evaluate(
        "getComputedStyle(document.querySelector('vendor-stage').shadowRoot.querySelector('dialog')).borderRadius",
      ),
    ).toBe('12px')
    expect(await visitor.recorded(1)).toEqual(['impression'])
    expect(await stage(visitor.page).count()).toBe(1)
    expect(visitor.faults).toEqual([])
  })
})
