import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { content, hasChromium, openBrowser, stage, twoFrames } from './visitor.ts'

const visit = openBrowser()

describe('the storefront script', () => {
  it('is less than 5 KB compressed', () => {
    const script = readFileSync(new URL('../../dist/stages/client.js', import.meta.url))
    expect(gzipSync(script, { level: 9 }).length).toBeLessThan(5120)
    expect(script.toString()).not.toContain('innerHTML')
  })
})

describe.skipIf(!hasChromium)(
  `the storefront script in Chromium${hasChromium ? '' : ' (no chromium on this machine)'}`,
  () => {
    it('works on a cached page, which is the same for every visitor', async () => {
      const { shop, page, see, recorded, faults } = await visit()
      await see()
      const second = await page.goto(`${shop.url}/shoes`)
      expect(second!.headers()['cache-status']).toMatch(/hit/)
      await stage(page).waitFor()
      expect(await recorded(2)).toEqual(['impression', 'impression'])
      expect((await shop.events())[0]).toMatchObject({ page_type: 'product', request_url: '/shoes' })
      expect(await second!.request().headerValue('cookie')).toBeNull()
      expect(shop.origin.hits('/shoes')).toBe(1)
      expect(faults).toEqual([])
    })

    it('sends one impression per show', async () => {
      const { see, recorded } = await visit()
      for (let show = 0; show < 5; show += 1) {
        await see()
        expect(await recorded(show + 1)).toHaveLength(show + 1)
      }
      expect(await recorded(5)).toEqual(Array(5).fill('impression'))
    })

    it('sends an impression when it is seen, not when it is mounted', async () => {
      const hidden = `let state = 'hidden'; Object.defineProperty(document, 'visibilityState', { get: () => state }); window.look = () => { state = 'visible'; document.dispatchEvent(new Event('visibilitychange')) }`
      const { shop, page, open, recorded } = await visit([{}], { init: hidden })
      await open()
      await page.evaluate(twoFrames)
      expect(await shop.events()).toEqual([])
      await page.evaluate('look(); look()')
      expect(await recorded(1)).toEqual(['impression'])
    })

    it('sends an impression with the first act, even if the stage was never in view', async () => {
      const { page, open, recorded } = await visit([{}], {
        init: "Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })",
      })
      await open()
      await page.keyboard.press('Escape')
      expect(await recorded(2)).toEqual(['impression', 'close'])
    })

    it('counts a call to action once, although it leaves the page', async () => {
      const { shop, page, see, recorded } = await visit()
      await see()
      await stage(page).getByText('To the sale').click()
      await page.waitForURL(`${shop.url}/other`)
      await stage(page).waitFor()
      expect(await recorded(3)).toEqual(['impression', 'impression', 'cta_click'])
    })

    it.each(['close', 'scroll'] as const)(
      'counts a call to action with the action %s, without a close event',
      async (action) => {
        const { page, see, recorded } = await visit([
          { content: { ...content, callToAction: { label: 'Go on', action, url: null, selector: '#far' } } },
        ])
        await see()
        await stage(page).getByText('Go on').dblclick()
        await stage(page).waitFor({ state: 'detached' })
        expect(await recorded(2)).toEqual(['impression', 'cta_click'])
        if (action === 'scroll')
          await page.waitForFunction("document.querySelector('#far').getBoundingClientRect().top < innerHeight")
      },
    )

    it('closes to reveal the target of a fragment', async () => {
      const { page, see, recorded } = await visit([
        { content: { ...content, callToAction: { label: 'Go on', action: 'url', url: '#far', selector: null } } },
      ])
      await see()
      await stage(page).getByText('Go on').click()
      await stage(page).waitFor({ state: 'detached' })
      expect(await recorded(2)).toEqual(['impression', 'cta_click'])
      await page.waitForFunction("document.querySelector('#far').getBoundingClientRect().top < innerHeight")
    })

    it('counts every element with a click action, and no click next to it', async () => {
      const layers =
        '<p>only text</p><button>plain button</button><div data-action="scroll" data-target="#far"><b>deep</b> layer</div>'
      const { page, see, recorded } = await visit([
        { content: { ...content, text: null, html: layers, callToAction: null } },
      ])
      await see()
      await stage(page).getByText('only text').click()
      await stage(page).getByText('plain button').click()
      await stage(page).getByText('plain button').click()
      await stage(page).getByText('deep').click()
      await stage(page).waitFor({ state: 'detached' })
      expect(await recorded(4)).toEqual(['impression', 'cta_click', 'cta_click', 'cta_click'])
    })

    it('opens and counts a link clicked with the middle button, and does nothing else, whatever other action the link has', async () => {
      const layers =
        '<a data-action="close">no link</a><a href="/p1" data-action="url" data-target="/p2">with a URL</a><a href="/p3" data-action="close">that closes</a>'
      const { shop, page, see, recorded } = await visit([
        { content: { ...content, text: null, html: layers, callToAction: null } },
      ])
      for (const path of ['/p1', '/p3']) shop.origin.on(path, { status: 200, body: 'a page without stages' })
      await see()
      await stage(page).getByText('no link').click({ button: 'middle' })
      for (const [name, path] of [
        ['with a URL', '/p1'],
        ['that closes', '/p3'],
      ] as const) {
        const [opened] = await Promise.all([
          page.context().waitForEvent('page'),
          stage(page).getByText(name).click({ button: 'middle' }),
        ])
        await opened.waitForURL(`${shop.url}${path}`)
        await opened.close()
      }
      expect([page.url(), await stage(page).count()]).toEqual([`${shop.url}/shoes`, 1])
      expect(await recorded(3)).toEqual(['impression', 'cta_click', 'cta_click'])
      await stage(page).getByText('with a URL').click()
      await page.waitForURL(`${shop.url}/p1`)
    })

    it.each([
      ['the X', (page: Page) => stage(page).getByRole('button', { name: 'Close' }).dblclick()],
      ['the overlay', (page: Page) => page.mouse.click(5, 5)],
      ['Escape', (page: Page) => page.keyboard.press('Escape')],
    ])('counts one close for %s', async (_name, dismiss) => {
      const { page, see, recorded } = await visit()
      await see()
      await dismiss(page)
      await stage(page).waitFor({ state: 'detached' })
      expect(await recorded(2)).toEqual(['impression', 'close'])
    })

    it('does not treat a text selection that ends outside as a click on the backdrop', async () => {
      const { page, see, recorded } = await visit()
      await see()
      const box = (await stage(page).getByText('Everything must go.').boundingBox())!
      await page.mouse.move(box.x + 5, box.y + 5)
      await page.mouse.down()
      await page.mouse.move(5, 5)
      await page.mouse.up()
      await stage(page).getByRole('button', { name: 'Close' }).click()
      expect(await recorded(2)).toEqual(['impression', 'close'])
    })

    it('counts "don\'t show again" as that alone, and never shows the stage again', async () => {
      const { shop, page, see, recorded } = await visit()
      await see()
      await stage(page).getByText("Don't show again").click()
      await stage(page).waitFor({ state: 'detached' })
      expect(await recorded(2)).toEqual(['impression', 'permanent_dismiss'])
      const asked = page.waitForResponse(/active/)
      await page.goto(`${shop.url}/shoes`)
      expect(await (await asked).json()).toMatchObject({ total: 0 })
    })

    it('follows frequency and cap', async () => {
      const { shop, page, see, recorded } = await visit([{ maxPerSession: 2 }])
      await see()
      await recorded(1)
      await see()
      await recorded(2)
      const asked = page.waitForResponse(/active/)
      await page.goto(`${shop.url}/shoes`)
      expect(await (await asked).json()).toMatchObject({ total: 0 })
    })

    it('shows one stage after another', async () => {
      const { page, see, recorded } = await visit([{}, { content: { ...content, headline: 'The second' } }])
      await see()
      expect(await stage(page).count()).toBe(1)
      await page.keyboard.press('Escape')
      await stage(page).getByText('The second').waitFor()
      expect(await recorded(3)).toEqual(['impression', 'impression', 'close'])
    })

    it('sends nothing for a stage that does not record, and applies its frequency in the browser', async () => {
      const { shop, page, open } = await visit([{ statsEnabled: false, frequency: 'once_per_session' }])
      const tracked: string[] = []
      page.on('request', (request) => request.url().includes('/track') && tracked.push(request.url()))
      await open()
      await page.waitForFunction('sessionStorage.length === 1')
      const asked = page.waitForResponse(/active/)
      await page.goto(`${shop.url}/shoes`)
      expect(await (await asked).json()).toMatchObject({ total: 1 })
      await page.evaluate(twoFrames)
      expect(await stage(page).count()).toBe(0)
      expect(tracked).toEqual([])
    })

    it('sends and stores nothing without consent, and checks it at each act', async () => {
      const { shop, page, open, recorded } = await visit([{}], {
        init: 'window.agreed = false; window.vendorStageConsent = () => Promise.resolve(window.agreed)',
      })
      await open()
      await page.evaluate(twoFrames)
      expect(await page.context().cookies()).toEqual([])
      await page.evaluate('window.agreed = true')
      await page.keyboard.press('Escape')
      expect(await recorded(1)).toEqual(['close'])
      expect(await shop.events()).toHaveLength(1)
    })

    it.each(["() => { throw new Error('broken') }", "() => Promise.reject(new Error('broken'))"])(
      'treats a throwing consent hook as refusal: %s',
      async (hook) => {
        const { shop, page, open, faults } = await visit([{}], { init: `window.vendorStageConsent = ${hook}` })
        await open()
        await page.keyboard.press('Escape')
        await stage(page).waitFor({ state: 'detached' })
        await page.evaluate(twoFrames)
        expect(faults).toEqual([])
        expect(await shop.events()).toEqual([])
      },
    )
  },
)
