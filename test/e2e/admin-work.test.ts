import type { ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { exchange } from '../helpers/exchange.ts'
import { until } from '../helpers/until.ts'
import { daemon, go, hasChromium, logIn, open, operator, origin, product } from './operators-page.ts'

describe.skipIf(!hasChromium)('work on the operators’ page', () => {
  it('runs a warmup, shows its failures and purges a listed page', async () => {
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
    await page.getByLabel('ID or product number').fill(product.slice('product-'.length))
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

  it('shows the traffic of a range by type, with the most frequent misses', async () => {
    expect((await exchange(`${daemon.url}/b?never=cached`)).status).toBe(200)
    const page = await open()
    await logIn(page)
    await page.getByRole('button', { name: '1 h', exact: true }).click()
    await page
      .getByRole('region', { name: 'Most frequent misses' })
      .getByRole('cell', { name: new RegExp(`${new URL(daemon.url).host}/b$`) })
      .waitFor()
    await page.getByRole('region', { name: 'Visitors by page type' }).getByRole('cell', { name: 'products' }).waitFor()
    for (const range of ['24 h', '7 d', '30 d']) {
      await page.getByRole('button', { name: range, exact: true }).click()
      await page.getByRole('cell', { name: 'products' }).first().waitFor()
    }
  })

  it('asks for confirmation before a clear, then shows the new numbers', async () => {
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

  it('pauses, resumes and cancels a warmup by the keyboard, and the focus stays', async () => {
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

  it('creates a popup stage, shows its statistics, updates and deletes it', async () => {
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
})
