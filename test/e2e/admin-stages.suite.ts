import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { json, jsonOf } from '../helpers/api-client.ts'
import { exchange } from '../helpers/exchange.ts'
import { until } from '../helpers/until.ts'
import { daemon, go, hasChromium, logIn, open, openSession, operator } from './operators-page.ts'

/** Work on popup stages, on the page that the test file has opened. */
export function describeStageWork(): void {
  describe.skipIf(!hasChromium)('popup stages on the operators’ page', () => {
    it('pages the list of all popup stages, and keeps the name of one on another page', async () => {
      const names = Array.from({ length: 51 }, (_, index) => `stage-${String(index).padStart(2, '0')}`)
      const { headers } = await openSession(operator)
      const stages = `${daemon.url}/api/_action/vendor-stage/stages`
      for (const name of names) {
        const body = json({ name })
        await exchange(stages, { method: 'POST', ...body, headers: { ...headers, ...body.headers } })
      }
      const page = await open({}, operator)
      // As if there were more than the API answers at once.
      await page.route(/\/stages\?/, (route) => route.continue({ url: route.request().url().replace('=1000', '=20') }))
      await go(page, 'Popup stages')
      await page.getByText('1 to 50 of 51').waitFor()
      await page.getByRole('button', { name: 'Statistics of stage-00' }).click()
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByRole('button', { name: 'Edit stage-50' }).waitFor()
      await page.getByRole('heading', { name: 'Statistics of stage-00' }).waitFor()
      // The page of the list stays while the list is read again.
      await page.reload()
      await page.getByRole('button', { name: 'Edit stage-50' }).waitFor()
      await page.getByRole('button', { name: 'Duplicate stage-50' }).click()
      await page.getByRole('heading', { name: 'Edit Copy of stage-50' }).waitFor()
      await page.getByText('51 to 52 of 52').waitFor()
      // Closed first: the page would request the statistics of a deleted stage.
      await page.close()
      const { items } = jsonOf(await exchange(`${stages}?limit=100`, { headers })) as { items: { id: string }[] }
      for (const { id } of items) await exchange(`${stages}/${id}`, { method: 'DELETE', headers })
    })

    it('keeps unsaved changes of stages over other views, a reload, Back and the end of the session, until they are discarded', async () => {
      const page = await open({}, operator)
      const name = page.getByLabel('Name', { exact: true })
      const headline = page.getByLabel('Headline')
      await go(page, 'Popup stages')
      await page.getByRole('button', { name: 'New stage' }).click()
      await name.fill('Autumn')
      await headline.fill('First leaves')
      await save(page)
      await page.getByRole('button', { name: 'Edit Autumn' }).click()
      await headline.fill('Second leaves')
      await page.getByRole('button', { name: 'New stage' }).click()
      // Until then the fields are those of the other stage.
      await page.getByRole('heading', { name: 'New stage' }).waitFor()
      await name.fill('Never saved')
      await go(page, 'Pages')
      await page.goBack()
      await page.getByText('Your unsaved changes were restored.').waitFor()
      expect(await name.inputValue()).toBe('Never saved')
      await page.goBack()
      await until(async () => expect(await headline.inputValue()).toBe('Second leaves'))
      await page.reload()
      await until(async () => expect(await headline.inputValue()).toBe('Second leaves'))
      await go(page, 'Popup stages')
      await page.getByRole('row', { name: 'Autumn unsaved changes' }).waitFor()
      await page.getByRole('button', { name: 'Continue the new stage' }).click()
      // Until then the button is that of the other stage.
      await page.getByRole('heading', { name: 'New stage' }).waitFor()
      await page.getByRole('button', { name: 'Discard changes' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Discard changes' }).click()
      await page.getByRole('button', { name: 'New stage' }).waitFor()

      // Someone else saves another setting of the stage meanwhile, and the session ends.
      const { headers } = await openSession(operator)
      const stages = `${daemon.url}/api/_action/vendor-stage/stages`
      const read = async () =>
        (jsonOf(await exchange(stages, { headers })) as { items: Record<string, unknown>[] }).items
      const { id } = (await read()).find((stage) => stage['name'] === 'Autumn') as { id: string }
      const body = json({ frequency: 'once', content: { dismissLabel: 'No, thanks' }, look: { position: 'bar' } })
      await exchange(`${stages}/${id}`, { method: 'PATCH', ...body, headers: { ...headers, ...body.headers } })
      await page.context().clearCookies()
      await page.getByText('The session has ended').waitFor()
      await page.goto(`${daemon.url}/admin#overview`)
      await logIn(page)
      await page.goto(`${daemon.url}/admin#stages?edit=${id}`)
      await page.getByText('Someone has saved this stage since you began editing it.').waitFor()
      expect(await headline.inputValue()).toBe('Second leaves')
      await save(page)
      expect((await read()).find((stage) => stage['id'] === id)).toMatchObject({
        frequency: 'once',
        content: { headline: 'Second leaves', dismissLabel: 'No, thanks' },
        look: { position: 'bar' },
      })
      await page.getByRole('button', { name: 'Edit Autumn' }).click()
      await headline.fill('Third leaves')
      await page.getByRole('button', { name: 'Discard changes' }).waitFor()
      await headline.fill('Second leaves')
      await page.getByRole('button', { name: 'Discard changes' }).waitFor({ state: 'detached' })
      await headline.fill('Third leaves')
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.getByRole('button', { name: 'Log in' }).waitFor()
      expect(await page.evaluate('sessionStorage.length')).toBe(0)
      await exchange(`${stages}/${id}`, { method: 'DELETE', headers })
    })

    it('creates a popup stage, shows its statistics, updates and deletes it', async () => {
      const page = await open({}, operator)
      await go(page, 'Popup stages')
      await page.getByRole('button', { name: 'New stage' }).click()
      await page.getByLabel('Name').fill('Summer')
      await page.getByLabel('Headline').fill('Summer sale')
      await save(page)
      await page.getByRole('heading', { name: 'Statistics of Summer' }).waitFor()
      await page.getByText('No events in this time.').waitFor()
      await page.getByRole('button', { name: 'Edit Summer' }).click()
      await page.getByLabel('Max views per session').fill('3')
      await save(page)
      await page.getByText('always, max 3 per session').waitFor()
      await page.getByRole('button', { name: 'Edit Summer' }).click()
      await page.getByLabel('Content as text').fill('Everything must go.')
      await page.getByLabel('Page types').fill('product, cms,')
      await page.getByLabel('Retention').fill('')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Retention in days: expected a whole number').waitFor()
      await page.getByLabel('Retention').fill('1')
      await save(page)
      await page.getByText('a day', { exact: true }).waitFor()
      const offered = (await exchange(`${daemon.url}/vendor-stage/active?pageType=cms`)).body.toString()
      expect(offered).toContain('Everything must go.')
      await page.getByRole('button', { name: 'Edit Summer' }).click()
      expect([
        await page.getByLabel('Content as text').inputValue(),
        await page.getByLabel('Page types').inputValue(),
      ]).toEqual(['Everything must go.', 'product, cms'])
      await page.getByLabel('Show from (UTC)').fill('2030-12-01T08:00')
      await page.getByLabel('Position').selectOption('bar')
      await page.getByLabel('Headline').fill('')
      const preview = page.frameLocator('iframe')
      const headline = preview.locator('dialog[open].bar h2')
      await page.getByLabel('Headline').pressSequentially('<b>Live</b>')
      await headline.getByText('<b>Live</b>').waitFor()
      await page.getByLabel('Content as HTML').fill('<p id="x">Kept</p><script>x()</script><iframe src="/"></iframe>')
      await until(async () => expect(await preview.locator('section').innerHTML()).toBe('<p>Kept</p>'))
      await page.getByLabel('Content as HTML').fill('')
      await page.getByLabel('Accent, #rrggbb').fill('red;}')
      await page.getByText('Accent: expected a colour').waitFor()
      await page.getByLabel('Accent, #rrggbb').fill('#102030')
      await until(async () => expect(await preview.locator('dialog').getAttribute('style')).toContain('#102030'))
      await page.getByLabel('Scheme').selectOption('auto')
      await page.getByRole('button', { name: 'Dark', exact: true }).click()
      await page.getByRole('button', { name: 'Phone', exact: true }).click()
      await preview.locator('dialog.dark').waitFor()
      expect(await page.evaluate("document.querySelector('iframe').contentWindow.innerWidth")).toBe(390)
      await save(page)
      await page.getByText('scheduled', { exact: true }).waitFor()
      await page.getByText('from 1 Dec 2030, 08:00:00').waitFor()
      expect((await exchange(`${daemon.url}/vendor-stage/active?pageType=cms`)).body.toString()).toContain('"total":0')
      await page.getByRole('button', { name: 'Duplicate Summer' }).click()
      await page.getByRole('heading', { name: 'Edit Copy of Summer' }).waitFor()
      await page.getByLabel('Page of the shop').fill('/a')
      await page.getByRole('button', { name: 'Make preview link' }).click()
      const link = page.getByRole('link', { name: 'Open in Storefront' })
      expect(await link.getAttribute('href')).toMatch(`${daemon.url}/a#vendor-stage-preview=`)
      await page.getByRole('button', { name: 'Statistics of Copy of Summer' }).click()
      // Until then the buttons delete the other stage.
      await page.getByRole('heading', { name: 'Statistics of Copy of Summer' }).waitFor()
      await page.getByRole('button', { name: 'Delete stage and events' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete stage and events' }).click()
      await page.getByText('Copy of Summer').first().waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Statistics of Summer' }).click()
      await page.getByRole('button', { name: 'Delete stage and events' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete stage and events' }).click()
      await page.getByText('No stages yet.').waitFor()
      await page.getByRole('button', { name: 'New stage' }).click()
      await page.getByLabel('Name').fill('Winter')
      await save(page)
      await page.getByRole('button', { name: 'Delete stage, keep events' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete stage, keep events' }).click()
      await page.getByText('No stages yet.').waitFor()
    })
  })
}

/** Saves the stage and waits until its form has closed, so that later input does not go into it. */
async function save(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.stage-form').waitFor({ state: 'detached' })
}
