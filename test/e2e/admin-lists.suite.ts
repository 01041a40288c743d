import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openQueue } from '../../src/queue/records-queue.ts'
import { json } from '../helpers/api-client.ts'
import { exchange, untilHit } from '../helpers/exchange.ts'
import { openRecords } from '../helpers/records.ts'
import { until } from '../helpers/until.ts'
import { claimOne } from '../queue/consuming.ts'
import { daemon, go, hasChromium, open, openSession, operator, origin } from './operators-page.ts'

/** Lists of the operators' page, on the page that the test file has opened. */
export function describeLists(): void {
  describe.skipIf(!hasChromium)('lists on the operators’ page', () => {
    it('searches and pages the logs of purges and invalidations, keeps that in its address, and sorts the rows shown', async () => {
      const { headers } = await openSession(operator)
      const purge = async (tags: readonly string[]) => {
        const body = json({ tags })
        const answer = await exchange(`${daemon.url}/api/_action/vendor-cache/purge`, {
          method: 'POST',
          ...body,
          headers: { ...headers, ...body.headers },
        })
        expect(answer.status).toBe(200)
      }
      const number = (index: number) => String(index).padStart(2, '0')
      await purge(Array.from({ length: 60 }, (_, index) => `bulk-${number(index)}`))
      await Promise.all(Array.from({ length: 26 }, (_, index) => purge([`single-${number(index)}`])))
      await purge(['<img/src=x/onerror=alert(1)>', `long-${'x'.repeat(400)}`, 'turned\u202Egat'])
      const page = await open({}, operator)
      await go(page, 'Purges')
      const purges = page.locator('section', { has: page.getByRole('heading', { name: 'Recent purges' }) })
      const rows = purges.getByRole('row')
      const button = (name: string) => purges.getByRole('button', { name, exact: true })
      await purges.getByRole('cell', { name: 'tag <img/src=x/onerror=alert(1)>', exact: true }).waitFor()
      await purges.getByRole('cell', { name: 'tag turned\\u{202e}gat', exact: true }).waitFor()
      await purges.locator('summary', { hasText: /^long-x+…x+$/ }).waitFor()

      await purges.getByLabel('URL, tag, type, source or actor contains').fill(' BULK-  api ')
      await page.keyboard.press('Enter')
      await purges.getByText('1 to 25, and more').waitFor()
      await button('Next').press('Enter')
      await purges.getByText('26 to 50, and more').waitFor()
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Next')
      await page.keyboard.press('Enter')
      await purges.getByText('51 to 60 of 60').waitFor()
      await page.reload()
      await purges.getByText('51 to 60 of 60').waitFor()
      await page.goBack()
      await purges.getByText('26 to 50, and more').waitFor()
      await purges.getByLabel('Rows').selectOption('100')
      await until(async () => expect(await rows.count()).toBe(61))
      await purges.getByRole('columnheader').getByRole('button', { name: 'Key' }).click()
      await until(async () => expect(await rows.nth(1).getByRole('cell').nth(1).textContent()).toBe('tag bulk-00'))
      await purges.getByLabel('URL, tag, type, source or actor contains').fill('bulk-07')
      await button('Search').click()
      await until(async () => expect(await rows.count()).toBe(2))
      await purges.getByRole('link', { name: 'Inspect bulk-07' }).waitFor()
      await purges.getByLabel('URL, tag, type, source or actor contains').fill('bulk-of-nothing')
      await page.keyboard.press('Enter')
      await purges.getByText('Nothing matches.').waitFor()
      await exchange(`${daemon.url}/blog/.*`, { method: 'BAN' })
      await purges.getByLabel('URL, tag, type, source or actor contains').fill('/blog/')
      await page.keyboard.press('Enter')
      await purges.getByRole('button', { name: 'Copy /blog/.*', exact: true }).waitFor()
      expect(await purges.getByRole('link', { name: /^Inspect/ }).count()).toBe(0)
      // Beyond the end is the last page.
      await page.goto(`${daemon.url}/admin#purges?purges=bulk-&purges-from=90000`)
      await purges.getByText('51 to 60 of 60').waitFor()

      const invalidations = page.locator('section', { has: page.getByRole('heading', { name: 'Invalidations' }) })
      await invalidations.getByLabel('Value, scope, source or actor contains').fill('single-')
      await page.keyboard.press('Enter')
      await invalidations.getByText('1 to 25, and more').waitFor()
      await invalidations.getByRole('columnheader').getByRole('button', { name: 'At' }).click()
      await invalidations.getByText('Only the rows shown here are sorted.').waitFor()
      await invalidations.getByRole('button', { name: 'Next' }).click()
      await invalidations.getByText('26 to 26 of 26').waitFor()
      // The other list stays where it is.
      await purges.getByText('51 to 60 of 60').waitFor()
    })

    it('goes on with a search until the daemon has searched the whole log, and shows what it has found so far', async () => {
      const page = await open({}, operator)
      const { promise: first, resolve: found } = Promise.withResolvers<void>()
      const asked: (string | null)[] = []
      await page.route('**/reverse-proxy-stats/recent?*search=*', async (route) => {
        const answer = await route.fetch()
        const before = new URL(route.request().url()).searchParams.get('before')
        asked.push(before)
        if (before !== null) {
          await first
          return route.fulfill({ response: answer })
        }
        // The answer of a daemon whose log is too long for one request.
        const value = (await answer.json()) as { items: unknown[] }
        const part = {
          ...value,
          items: value.items.slice(0, 1),
          total: 1,
          next: 1,
          searchedTo: '2026-01-02T03:04:05.000Z',
        }
        return route.fulfill({ response: answer, json: part })
      })
      await page.goto(`${daemon.url}/admin#purges?purges=bulk-`)
      await page.getByText('Searched back to 2 Jan 2026, 03:04:05 …').waitFor()
      await page.getByRole('link', { name: 'Inspect bulk-59' }).waitFor()
      found()
      await page.getByText('Searched back to').waitFor({ state: 'detached' })
      expect(asked).toEqual([null, '1'])
      expect(await page.getByRole('link', { name: 'Inspect bulk-59' }).count()).toBe(1)
    })

    it('inspects, warms and purges what a purged tag selects', async () => {
      origin.on('/tagged-row', { headers: { 'cache-control': 's-maxage=600', xkey: 'row-tag' }, body: 'page' })
      await untilHit(() => exchange(`${daemon.url}/tagged-row`))
      const page = await open({}, operator)
      await go(page, 'Purges')
      await page.getByLabel('Tags, separated by spaces').fill('row-tag')
      await page.keyboard.press('Enter')
      const purges = page.getByRole('region', { name: 'Purges, newest first' })
      await purges.getByRole('button', { name: 'Warm row-tag' }).first().click()
      await page.getByText('Warmup of 1 URL started.').waitFor()
      await untilHit(() => exchange(`${daemon.url}/tagged-row`))
      await purges.getByRole('button', { name: 'Purge row-tag' }).first().click()
      await page.getByText('1 page removed.').waitFor()
      await purges.getByRole('link', { name: 'Inspect row-tag' }).first().click()
      await page.getByText('No cached page matches.').waitFor()
      expect(await page.getByLabel('Tag').inputValue()).toBe('row-tag')
    })

    it('shows, finds and retries failed messages', async () => {
      const records = await openRecords({ directory: join(daemon.projectDir, 'var/data/prod'), now: Date.now })
      onTestFinished(() => records.close())
      const queue = openQueue(records, Date.now)
      await queue.dispatch([
        { transport: 'async', type: 'of-this-test', payload: { name: '<b>turned\u202E</b>' } },
        { transport: 'async', type: 'of-this-test', payload: 2 },
      ])
      const fail = async (...errors: string[]) => {
        const worker = await queue.join({ kind: 'consumer', transports: ['async'], types: ['of-this-test'] })
        for (const error of errors) await worker.fail((await claimOne(worker, 'of-this-test'))!, error)
        await worker.leave()
      }
      await fail('the shop is closed', 'the shop is gone')
      const page = await open({}, operator)
      await go(page, 'Queue and tasks')
      const failed = page.getByRole('region', { name: 'Failed messages' })
      await page.getByLabel('Message type').fill('of-another')
      await page.keyboard.press('Enter')
      await page.getByText('No failed message has this type.').waitFor()
      await page.getByLabel('Message type').fill('of-this-test')
      await page.keyboard.press('Enter')
      await failed.getByRole('columnheader').getByRole('button', { name: 'Error' }).click()
      const row = failed.getByRole('row').filter({ hasText: 'the shop is closed' })
      await row.getByRole('button', { name: /^Inspect / }).click()
      const payload = page.getByRole('region', { name: 'Payload' })
      await until(async () => expect(await payload.textContent()).toContain('"name": "<b>turned\\u{202e}</b>"'))
      await page.getByRole('button', { name: 'Close message' }).click()
      await row.getByRole('button', { name: /^Retry / }).click()
      await page.getByText('1 message put back.').waitFor()
      await row.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Retry these 1' }).click()
      await page.getByText('No failed message has this type.').waitFor()
      await fail('the shop is closed again', 'the shop is gone again')
      await page.getByLabel('Message type').fill('')
      await page.keyboard.press('Enter')
      await failed.getByText('the shop is gone again').waitFor()
      await page.getByRole('button', { name: /^Retry all / }).click()
      await page.getByText(/^\d+ messages put back\.$/).waitFor()
      await fail('the shop is gone for good')
      await failed.getByText('the shop is gone for good').waitFor()
      await page.getByRole('button', { name: 'Remove failed messages' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Remove failed messages' }).click()
      await page.getByText(/^\d+ messages? removed\.$/).waitFor()
    })

    it('says what to do about a page that the shop forbids to store, and about a missing sales channel', async () => {
      origin.on('/forbidden', { headers: { 'content-type': 'text/html', 'cache-control': 'private' }, body: 'mine' })
      for (let visits = 0; visits < 9; visits++) await exchange(`${daemon.url}/forbidden`)
      const page = await open({}, operator)
      const misses = page.getByRole('region', { name: 'Most frequent misses' })
      const miss = misses.getByRole('row').filter({ hasText: '/forbidden' })
      await miss.getByText('have the shop send Cache-Control: public, s-maxage=600 instead').waitFor()
      await miss.getByRole('link', { name: `Inspect ${daemon.url}/forbidden` }).click()
      await page.getByText('have the shop send Cache-Control: public, s-maxage=600 instead').waitFor()
      await page.route('**/vendor-cache/config', (route) => route.fulfill({ json: { success: true, values: [] } }))
      await page.goto(`${daemon.url}/admin#overview`)
      await page.reload()
      await page.getByText('No sales channel is configured').waitFor()
    })

    it('says that it cannot reach the daemon, keeps what it knows, and recovers', async () => {
      const page = await open({}, operator)
      await go(page, 'Queue and tasks')
      await page.getByRole('region', { name: 'Workers' }).waitFor()
      await page.route('**/api/_action/**', (route) => route.abort())
      await page.getByText('Could not reach the daemon. The values below may be out of date.').first().waitFor()
      await page.getByRole('region', { name: 'Workers' }).waitFor()
      await page.getByRole('button', { name: 'Run now: vendor_cache.cleanup_pages' }).click()
      await page.getByRole('status').getByText('Could not reach the daemon.').waitFor()
      await page.unroute('**/api/_action/**')
      await page.getByRole('alert').first().waitFor({ state: 'detached' })
    })
  })
}
