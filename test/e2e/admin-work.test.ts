import type { ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { exchange, untilHit } from '../helpers/exchange.ts'
import { until } from '../helpers/until.ts'
import { describeLists } from './admin-lists.suite.ts'
import { describeStageWork } from './admin-stages.suite.ts'
import { daemon, go, hasChromium, open, operator, origin, product, useOperatorsPage } from './operators-page.ts'

useOperatorsPage()

describe.skipIf(!hasChromium)('work on the operators’ page', () => {
  it('warms, lists, inspects and purges pages by the buttons of their rows', async () => {
    const page = await open({}, operator)
    await go(page, 'Warmup')
    await page.getByLabel('URLs or paths').fill('/a /b /c /gone')
    await page.getByLabel('Batch size').press('Enter')
    await page.getByText('Started with 4 URLs.').waitFor()
    await page.getByText('completed').first().waitFor({ timeout: 60_000 })
    const failed = page.getByRole('region', { name: 'Failed URLs' })
    await failed.getByRole('cell', { name: `${daemon.url}/gone`, exact: true }).waitFor()
    await page.getByLabel('URL contains').fill('nowhere')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing matches.').waitFor()
    await page.getByLabel('URL contains').fill('/gone')
    await page.keyboard.press('Enter')
    await page.getByLabel('Reason').selectOption('answered 404')
    await failed.getByRole('cell', { name: `${daemon.url}/gone`, exact: true }).waitFor()
    await page.getByLabel('State').selectOption('paused')
    await page.getByText('No warmup is paused.').waitFor()
    await page.getByLabel('State').selectOption('completed')
    await page
      .getByRole('button', { name: /^Show the run / })
      .first()
      .waitFor()
    await failed.getByRole('button', { name: `Warm ${daemon.url}/gone` }).click()
    await page.getByText('Warmup of 1 URL started.').waitFor()
    await failed.getByRole('link', { name: `Inspect ${daemon.url}/gone` }).click()
    await page.getByRole('heading', { name: 'Pages', level: 1 }).waitFor()
    await page.getByText('not cached', { exact: true }).waitFor()
    expect(await page.getByLabel('URL or path of the page').inputValue()).toBe(`${daemon.url}/gone`)

    const listed = (path: string) => page.getByRole('cell', { name: `${daemon.url}${path}`, exact: true })
    await listed('/a').waitFor()
    await page.getByRole('link', { name: `Inspect ${daemon.url}/a` }).click()
    await page.getByText('cached', { exact: true }).waitFor()
    await page.getByLabel('URL or path begins with').fill('/b')
    await page.keyboard.press('Enter')
    await listed('/a').waitFor({ state: 'detached' })
    await page
      .getByRole('region', { name: 'Cached pages' })
      .getByRole('button', { name: `Purge ${daemon.url}/b` })
      .click()
    await page.getByText('1 page removed.').waitFor()
    await page.getByText('No cached page matches.').waitFor()
    await page.getByLabel('URL or path begins with').fill('')
    await page.getByLabel('Tag').fill(product)
    await page.getByRole('button', { name: 'Search' }).click()
    await listed('/c').waitFor()
    // The question is in the URL of the page.
    await page.reload()
    await listed('/c').waitFor()
    expect(await page.getByLabel('Tag').inputValue()).toBe(product)
  })

  it('warms the pages with a tag, the most visited ones first', async () => {
    origin.on('/tagged', { headers: { 'cache-control': 's-maxage=600', xkey: 'only-here' }, body: 'page' })
    await untilHit(() => exchange(`${daemon.url}/tagged`))
    const page = await open({}, operator)
    await go(page, 'Warmup')
    await page.getByLabel('Tags').fill(' only-here  of-no-page ')
    await page.getByLabel('Order').selectOption('hits')
    const request = page.waitForRequest((each) => each.url().endsWith('/warmup/start'))
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.getByText('Started with 1 URL.').waitFor()
    expect((await request).postDataJSON()).toMatchObject({ tags: ['only-here', 'of-no-page'], order: 'hits' })
  })

  it('sorts and pages the list of pages, and copies a URL', async () => {
    for (let number = 0; number < 51; number++) {
      const path = `/many/${String(number).padStart(2, '0')}`
      origin.on(path, {
        headers: { 'content-type': 'text/html', 'cache-control': 's-maxage=600', xkey: 'many' },
        body: path,
      })
      await exchange(daemon.url + path)
    }
    await untilHit(() => exchange(`${daemon.url}/many/50`))
    const page = await open({ permissions: ['clipboard-read', 'clipboard-write'] }, operator)
    await page.goto(`${daemon.url}/admin#pages?tag=many`)
    await page.getByText('51 pages', { exact: true }).waitFor()
    const first = () =>
      page.getByRole('region', { name: 'Cached pages' }).getByRole('row').nth(1).getByRole('cell').first()
    const sortBy = (name: string) => page.getByRole('columnheader').getByRole('button', { name }).click()
    await sortBy('URL')
    await until(async () => expect(await first().textContent()).toBe(`${daemon.url}/many/00`))
    await sortBy('URL')
    await until(async () => expect(await first().textContent()).toBe(`${daemon.url}/many/50`))
    expect(await page.getByRole('columnheader', { name: 'URL' }).getAttribute('aria-sort')).toBe('descending')
    await page.getByRole('button', { name: 'Next' }).click()
    await until(async () => expect(await first().textContent()).toBe(`${daemon.url}/many/00`))
    await page.getByText('51 to 51 of 51').waitFor()
    await page.getByRole('button', { name: 'Previous' }).click()
    await page.getByText('1 to 50 of 51').waitFor()
    // The answer is above the list.
    await page.getByRole('link', { name: `Inspect ${daemon.url}/many/01` }).click()
    await until(async () => {
      expect(await page.evaluate("document.activeElement.querySelector('h2')?.textContent")).toBe(
        'Is this page cached?',
      )
    })
    expect(await page.evaluate('Math.abs(document.activeElement.getBoundingClientRect().top) < innerHeight')).toBe(true)
    // What it shows moves the list.
    await page.getByText('cached', { exact: true }).waitFor()
    await page.getByRole('button', { name: `Copy ${daemon.url}/many/50` }).click()
    await page.getByText('Copied.').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`${daemon.url}/many/50`)
  })

  it('shows URLs in their own letters, and copies them as they are', async () => {
    const path = '/%E3%82%B9%E3%83%88%E3%82%A2/%E2%80%AEx'
    origin.on(path, { headers: { 'content-type': 'text/html', 'cache-control': 's-maxage=600' }, body: 'store' })
    await untilHit(() => exchange(daemon.url + path))
    const page = await open({ permissions: ['clipboard-read', 'clipboard-write'] }, operator)
    await go(page, 'Pages')
    await page.getByLabel('URL or path begins with').fill('/ストア')
    await page.keyboard.press('Enter')
    const pages = page.getByRole('region', { name: 'Cached pages' })
    // A character that turns the direction of reading would disguise the URL.
    await pages.getByRole('cell', { name: `${daemon.url}/ストア/%E2%80%AEx`, exact: true }).waitFor()
    // The whole list, which is shown until the answer is here, may begin with it.
    await page.getByText('1 page', { exact: true }).waitFor()
    await pages.getByRole('button', { name: 'Copy' }).click()
    await page.getByText('Copied.').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(daemon.url + path)
  })

  it('purges by tag and by path with Enter, and explains the purges of a page and of a record', async () => {
    for (const path of ['/a', '/c']) await untilHit(() => exchange(daemon.url + path))
    const page = await open({}, operator)
    await go(page, 'Purges')
    await page.getByLabel('Tags, separated by spaces').fill(product)
    await page.keyboard.press('Enter')
    await page.getByText(/^[23] pages removed\.$/).waitFor()
    await page.getByLabel('URL or path of the page').fill('/a')
    await page.keyboard.press('Enter')
    const flow = page.getByRole('region', { name: /Purges of .*\/a/ })
    await flow.getByText(product).first().waitFor()
    await page.getByLabel('ID or product number').fill(product.slice('product-'.length))
    await page.keyboard.press('Enter')
    await page
      .getByRole('region', { name: /Purges of product/ })
      .getByText(product)
      .first()
      .waitFor()
    const { stdout } = await daemon.run('invalidation-log:recent', '--json')
    expect((JSON.parse(stdout) as { items: unknown[] }).items[0]).toMatchObject({
      source: 'api',
      actor: operator.clientId,
      value: product,
    })

    await untilHit(() => exchange(`${daemon.url}/a`))
    await page.getByRole('combobox', { name: 'By', exact: true }).selectOption('urls')
    await page.getByRole('textbox', { name: 'URLs or paths' }).fill('/a')
    await page.getByRole('button', { name: 'Purge', exact: true }).click()
    await page.getByText('1 page removed.').waitFor()
    await page.getByRole('textbox', { name: 'URLs or paths' }).fill(' ')
    await page.getByRole('button', { name: 'Purge', exact: true }).click()
    await page.getByText('Enter at least one').waitFor()
    await page.getByRole('textbox', { name: 'URLs or paths' }).fill('shoes')
    await page.getByRole('button', { name: 'Purge', exact: true }).click()
    await page.getByText('shoes is no URL and no path: begin with http://, https:// or /.').waitFor()
  })

  it('shows the traffic of a range by type, with charts of it and the most frequent misses', async () => {
    // More often than any other page, to be among the most frequent.
    for (const query of ['never', 'cached', 'before'])
      expect((await exchange(`${daemon.url}/b?${query}`)).status).toBe(200)
    const page = await open({}, operator)
    await page.getByRole('button', { name: '1 h', exact: true }).click()
    const misses = page.getByRole('region', { name: 'Most frequent misses' })
    await misses.getByRole('cell', { name: `${daemon.host}/b`, exact: true }).waitFor()
    await misses.getByRole('link', { name: `Inspect ${daemon.url}/b` }).waitFor()
    const byType = page.getByRole('region', { name: 'Visitors by page type' })
    await byType.getByRole('cell', { name: 'products' }).waitFor()
    for (const [chart, caption] of [
      ['Hit ratio', 'Hit ratio by minute'],
      ['Bytes', 'Bytes sent by minute'],
      ['Shop time', 'Time that the shop took, by minute'],
      ['Requests', 'Requests by minute'],
    ] as const) {
      await page.getByRole('button', { name: chart, exact: true }).click()
      await page.locator('figcaption', { hasText: caption }).waitFor()
    }
    for (const range of ['24 h', '7 d', '30 d']) {
      await page.getByRole('button', { name: range, exact: true }).click()
      await page.getByRole('button', { name: range, exact: true, pressed: true }).waitFor()
      await byType.getByRole('cell', { name: 'products' }).first().waitFor()
    }
    await page.getByRole('combobox', { name: 'Page type' }).selectOption('buybox')
    await page.getByText('No visitors in this time.').waitFor()
    await page.reload()
    await page.getByText('No visitors in this time.').waitFor()
    expect(await page.getByRole('combobox', { name: 'Page type' }).inputValue()).toBe('buybox')
  })

  it('asks for confirmation before a clear, naming what and where, then shows the new numbers', async () => {
    await untilHit(() => exchange(`${daemon.url}/a`))
    const page = await open({}, operator)
    const pages = page.locator('.figure', { has: page.getByText('Pages', { exact: true }) }).getByRole('definition')
    await until(async () => expect(await pages.textContent()).toMatch(/^[1-9]/))
    await page.getByRole('button', { name: 'Clear products' }).click()
    await page.getByRole('dialog', { name: `Clear all pages of the type products at ${daemon.host}?` }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Clear all pages' }).click()
    await page.getByRole('button', { name: 'Keep as it is' }).click()
    expect(await pages.textContent()).not.toBe('0')
    await page.getByRole('button', { name: 'Clear all pages' }).click()
    const dialog = page.getByRole('dialog', { name: `Clear all pages at ${daemon.host}?` })
    await dialog.getByRole('button', { name: 'Clear all pages' }).click()
    await page.getByText(/^\d+ files? removed\.$/).waitFor()
    await until(async () => expect(await pages.textContent()).toBe('0'))
    await page.getByText('No cached pages yet.').waitFor()
  })

  it('runs a scheduled task', async () => {
    const page = await open({}, operator)
    await go(page, 'Queue and tasks')
    await page.getByRole('button', { name: 'Run now: vendor_cache.cleanup_pages' }).click()
    await page.getByText('vendor_cache.cleanup_pages runs next.').waitFor()
  })

  it('pauses, resumes and cancels a warmup by the keyboard, and the focus stays', async () => {
    const held: ServerResponse[] = []
    origin.on('/held', (_, response) => void held.push(response))
    onTestFinished(() => held.forEach((response) => response.end()))
    origin.on('/sitemap.xml', { body: `<urlset><url><loc>${daemon.url}/held</loc></url></urlset>` })
    const page = await open({}, operator)
    await go(page, 'Warmup')
    await page.getByRole('button', { name: 'Start', exact: true }).press('Enter')
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
    for (const [label, concurrency] of [
      ['Faster', 5],
      ['Slower', 4],
    ] as const) {
      await page.getByRole('button', { name: label, exact: true }).press('Enter')
      await until(async () =>
        expect((await page.textContent('dl.figures'))!).toContain(`${concurrency}set for this warmup`),
      )
    }
    await page.getByRole('button', { name: 'Cancel', exact: true }).press('Enter')
    await page.keyboard.press('Escape')
    await until(async () => expect(await focused()).toBe('Cancel'))
    await page.getByRole('button', { name: 'Cancel', exact: true }).press('Enter')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).press('Enter')
    await page.getByRole('status').getByText('cancelled').waitFor()
  })
})

describeLists()

describeStageWork()
