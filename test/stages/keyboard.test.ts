import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { defaultLook, defaultTrigger } from '../../src/stages/look.ts'
import { content, hasChromium, html, openBrowser, stage } from './visitor.ts'

const visit = openBrowser()

describe.skipIf(!hasChromium)(
  `a stage and the keyboard, in Chromium${hasChromium ? '' : ' (no chromium on this machine)'}`,
  () => {
    it.each(['Enter', ' '])(
      'lets the keyboard focus and press a clickable element that is not a button, once per held key: %j',
      async (key) => {
        const layers = '<p>only text</p><div data-action="scroll" data-target="#far"><b>To the offer</b></div>'
        const { page, see, recorded, faults } = await visit([
          { content: { ...content, text: null, html: layers, callToAction: null } },
        ])
        await see()
        const layer = stage(page).getByRole('button', { name: 'To the offer' })
        await layer.focus()
        await page.keyboard.down('a')
        await page.keyboard.up('a')
        await page.keyboard.down(key)
        await page.keyboard.down(key)
        await page.keyboard.up(key)
        await stage(page).waitFor({ state: 'detached' })
        await page.waitForFunction("document.querySelector('#far').getBoundingClientRect().top < innerHeight")
        expect(await recorded(2)).toEqual(['impression', 'cta_click'])
        expect(faults).toEqual([])
      },
    )

    it('reaches each clickable element and button once with Tab', async () => {
      const layers =
        '<div data-action="close">First</div><img data-action="close" src="/none.png" alt="Picture"><span data-action="url" data-target="/other">Second</span><button>Third</button><a href="#far">Fourth</a><p>text</p>'
      const { page, see } = await visit([{ content: { ...content, text: null, html: layers, callToAction: null } }])
      await see()
      // As laid out by the shop's own styles.
      expect(
        await page.evaluate(
          "getComputedStyle(document.querySelector('vendor-stage').shadowRoot.querySelector('section div')).padding",
        ),
      ).toBe('0px')
      expect(await stage(page).getByRole('button', { name: 'Picture' }).count()).toBe(1)
      const focused = () =>
        page.evaluate("document.querySelector('vendor-stage').shadowRoot.activeElement?.textContent ?? null")
      const order: unknown[] = [await focused()]
      while (order.at(-1) !== '×') {
        await page.keyboard.press('Tab')
        order.push(await focused())
      }
      expect(order).toEqual(['First', '', 'Second', 'Third', 'Fourth', "Don't show again", '×'])
    })

    it.each([
      [
        'a key',
        async (page: Page) => (await stage(page).getByText('Elsewhere').focus(), await page.keyboard.press('Enter')),
      ],
      ['a click', (page: Page) => stage(page).getByText('Elsewhere').click()],
    ])('follows the URL of a clickable element on %s, and counts it once', async (_how, press) => {
      const { shop, page, see, recorded } = await visit([
        {
          content: {
            ...content,
            text: null,
            html: '<div data-action="url" data-target="/other">Elsewhere</div>',
            callToAction: null,
          },
        },
      ])
      await see()
      await press(page)
      await page.waitForURL(`${shop.url}/other`)
      await stage(page).waitFor()
      expect(await recorded(3)).toEqual(['impression', 'impression', 'cta_click'])
    })

    it('counts a held key on a button once', async () => {
      const { page, see, recorded } = await visit([
        { content: { ...content, text: null, html: '<button>plain button</button>', callToAction: null } },
      ])
      await see()
      await stage(page).getByText('plain button').focus()
      for (let time = 0; time < 5; time += 1) await page.keyboard.down('Enter')
      await page.keyboard.up('Enter')
      await page.keyboard.press('Escape')
      await stage(page).waitFor({ state: 'detached' })
      expect(await recorded(3)).toEqual(['impression', 'cta_click', 'close'])
    })

    it('has a focus ring from the first key on, and none for a visitor with a pointer', async () => {
      const { shop, page } = await visit([{ trigger: { ...defaultTrigger, scroll: 1 } }])
      const ring = () =>
        page.evaluate("getComputedStyle(document.querySelector('vendor-stage').shadowRoot.activeElement).outlineStyle")
      await page.goto(`${shop.url}/shoes`)
      await page.mouse.click(300, 300)
      await page.mouse.wheel(0, 1500)
      await stage(page).waitFor()
      expect(await ring()).toBe('none')
      await page.keyboard.press('Tab')
      expect(await ring()).toBe('solid')
      await page.keyboard.press('Escape')
      const asked = page.waitForResponse(/active/)
      await page.goto(`${shop.url}/shoes`)
      await asked
      await page.keyboard.press('End')
      await stage(page).waitFor()
      expect(await ring()).toBe('solid')
    })

    it('takes no key from a visitor who types, if it is not modal', async () => {
      const look = { ...defaultLook, position: 'bar' } as const
      const { shop, page } = await visit([{ look, trigger: { ...defaultTrigger, scroll: 1 } }], {
        page: html.replace('<h1>', '<input id="q"><h1>'),
      })
      await page.goto(`${shop.url}/shoes`)
      await page.locator('#q').pressSequentially('sho')
      await page.evaluate('scrollTo(0, 500)')
      await stage(page).waitFor()
      await page.keyboard.type('es')
      expect(await page.locator('#q').inputValue()).toBe('shoes')
    })

    it('is an accessible dialog: named, focused, closed by Escape, and restores the focus', async () => {
      const { page, see } = await visit()
      await page.addInitScript("addEventListener('load', () => document.querySelector('#first').focus())")
      await see()
      const dialog = page.getByRole('dialog', { name: 'Summer sale' })
      expect(await dialog.count()).toBe(1)
      const inside = () => page.evaluate('document.activeElement.tagName')
      for (let tab = 0; tab < 3; tab += 1) {
        expect(await inside()).toBe('VENDOR-STAGE')
        await page.keyboard.press('Tab')
      }
      await page.keyboard.press('Escape')
      await stage(page).waitFor({ state: 'detached' })
      expect(await page.evaluate('document.activeElement.id')).toBe('first')
    })
  },
)
