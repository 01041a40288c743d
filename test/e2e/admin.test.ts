import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { createClient } from '../helpers/api-client.ts'
import { exchange } from '../helpers/exchange.ts'
import { until } from '../helpers/until.ts'
import {
  daemon,
  go,
  hasChromium,
  logIn,
  open,
  operator,
  product,
  reader,
  useOperatorsPage,
  views,
} from './operators-page.ts'
import { describeAccess } from './admin-access.suite.ts'

useOperatorsPage()

describeAccess()

describe.skipIf(!hasChromium)('the operators’ page in Chromium (skipped where chromium is not installed)', () => {
  it('rejects a wrong secret with a message', async () => {
    const page = await open()
    await page.getByLabel('Client ID').fill(operator.clientId)
    await page.getByLabel('Client secret').fill('wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('Wrong client ID or secret.').waitFor()
    expect(await page.getByRole('navigation').count()).toBe(0)
  })

  it('shows a read-only client no button that it may not press', async () => {
    const page = await open({}, reader)
    expect((await exchange(`${daemon.url}/a`)).status).toBe(200)
    const harmless =
      /^(?:Log out|Search|Inspect|Show purges|Previous|Next|Requests|Hit ratio|Bytes|Shop time|\d+ [hd]|Copy .*|Show the run .*|Statistics of .*)$/
    for (const view of views) {
      await go(page, view)
      await settled(page)
      if (view === 'Pages') await page.getByRole('cell', { name: `${daemon.url}/a`, exact: true }).waitFor()
      const names = (await page.evaluate(
        `[...document.querySelectorAll('button:not(.sort)')].map((button) => button.ariaLabel ?? button.textContent)`,
      )) as string[]
      expect(names.length, view).toBeGreaterThan(0)
      for (const name of names) expect(name, view).toMatch(harmless)
    }
    // Nor a form that a link opens.
    await page.goto(`${daemon.url}/admin#stages?edit=new`)
    await page.getByText('No stages yet.').waitFor()
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0)
    await page.getByText('(read-only)').waitFor()
  })

  it('keeps the login over a reload and in a second tab, out of reach of scripts, until the logout', async () => {
    const page = await open()
    await logIn(page)
    const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])')
    expect(kept).toBe('[{},{},""]')
    await go(page, 'Purges')
    await page.reload()
    await page.getByRole('heading', { name: 'Purges', level: 1 }).waitFor()
    const second = await page.context().newPage()
    await second.goto(`${daemon.url}/admin#queue`)
    await second.getByRole('heading', { name: 'Queue and tasks', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    await second.getByText('The session has ended').waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
  })

  it('follows a URL that changes as soon as the first view is shown', async () => {
    const page = await open()
    // As soon as the heading exists, before any callback of the page that waits for the next frame.
    await page.evaluate(`
      new MutationObserver((_, observer) => {
        if (document.querySelector('h1')?.textContent !== 'Overview') return
        observer.disconnect()
        location.hash = '#stages'
      }).observe(document.body, { childList: true, subtree: true })
    `)
    await page.getByLabel('Client ID').fill(operator.clientId)
    await page.getByLabel('Client secret').fill(operator.clientSecret)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Popup stages', level: 1 }).waitFor()
  })

  it('of a revoked client shows the login at once, and does not count as failed logins of its address', async () => {
    const leaver = await createClient(daemon, 'leaver')
    const page = await open({}, leaver)
    const logins: string[] = []
    page.on('request', (request) => request.url().endsWith('/api/oauth/token') && logins.push(request.url()))
    await daemon.run('client:revoke', leaver.clientId, '--yes')
    await page
      .getByText('The session has ended: it was logged out or has expired, or the client was revoked.')
      .waitFor()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    expect(logins).toEqual([])
  })

  it('is fully usable by keyboard, and each field and button has a name', async () => {
    const page = await open()
    await until(async () => expect(await page.evaluate('document.activeElement.name')).toBe('id'))
    await page.keyboard.type(operator.clientId)
    await page.keyboard.press('Tab')
    await page.keyboard.type(operator.clientSecret)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await until(async () => expect(await page.evaluate('document.activeElement.textContent')).toBe('Overview'))
    for (const view of [...views.slice(1), 'Overview']) {
      await page.getByRole('navigation').getByRole('link', { name: view, exact: true }).focus()
      await page.keyboard.press('Enter')
      // The link has the same text.
      await until(async () => expect(await page.evaluate("document.activeElement.matches('h1')")).toBe(true))
      expect(await page.evaluate('document.activeElement.textContent')).toBe(view)
    }
  })

  it('says that the daemon has not answered for ten seconds, and shows the answer when it comes', async () => {
    const { promise: answering, resolve: answer } = Promise.withResolvers<void>()
    const page = await open({}, operator)
    await page.clock.install()
    await page.route('**/messenger/stats', async (route) => {
      await answering
      await route.continue()
    })
    await go(page, 'Queue and tasks')
    // The other answers must not be late too.
    await page.getByRole('region', { name: 'Scheduled tasks' }).waitFor()
    await page.getByText('No failed messages.').waitFor()
    const late = page.getByText('The daemon has not answered for ten seconds.')
    await page.clock.fastForward(9000)
    expect(await late.count()).toBe(0)
    await page.clock.fastForward(1000)
    await late.waitFor()
    answer()
    await page.getByRole('region', { name: 'Workers' }).waitFor()
    expect(await late.count()).toBe(0)
  })

  it('names its time zone, UTC, wherever the browser is', async () => {
    const page = await open({ timezoneId: 'Asia/Tokyo' }, operator)
    await page.getByText('Times in UTC').waitFor()
    await go(page, 'Queue and tasks')
    // The nightly tasks.
    await page
      .getByText(/, 02:00:00$/)
      .first()
      .waitFor()
  })

  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('has no violation of axe and clips nothing, in %s, at %i pixels', async (colorScheme, width) => {
    expect((await exchange(`${daemon.url}/a`)).status).toBe(200)
    const page = await open({ colorScheme, viewport: { width, height: 900 } })
    await page.getByLabel('Client ID').waitFor()
    expect(await axeOf(page), 'login').toEqual([])
    await logIn(page)
    for (const view of views) {
      await go(page, view)
      await settled(page)
      expect(await axeOf(page), view).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), view).toBeLessThanOrEqual(0)
      expect(await page.evaluate(clippedButtons), view).toEqual([])
    }
    await page.getByRole('button', { name: 'New stage' }).click()
    await page.getByLabel('Name').fill('Welcome')
    await page.getByLabel('Call to action').selectOption('url')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Close this message' }).waitFor()
    expect(await axeOf(page), 'form of a stage with an error').toEqual([])
    await page.getByLabel('Call to action').selectOption('none')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Statistics of Welcome' }).waitFor()
    await page.getByRole('button', { name: 'Edit Welcome' }).click()
    await page.getByRole('button', { name: 'Make preview link' }).click()
    await page.getByRole('link', { name: 'Open in Storefront' }).waitFor()
    await settled(page)
    expect(await axeOf(page), 'edited stage with its statistics').toEqual([])
    expect(await page.evaluate(clippedButtons), 'edited stage').toEqual([])
    await page.getByRole('button', { name: 'Delete stage and events' }).click()
    await page.getByRole('dialog').waitFor()
    expect(await axeOf(page), 'dialog of a stage').toEqual([])
    await page.getByRole('dialog').getByRole('button', { name: 'Delete stage and events' }).click()
    await page.getByText('No stages yet.').waitFor()
    await page.goto(`${daemon.url}/admin#pages?inspect=/a&tag=${product}`)
    await page.getByRole('region', { name: 'Stored variants' }).waitFor()
    expect(await axeOf(page), 'inspected page').toEqual([])
    await page.goto(`${daemon.url}/admin#overview?last=1+h`)
    await page.locator('summary', { hasText: 'Show as table' }).first().click()
    await page.getByRole('button', { name: 'Clear all pages' }).click()
    await page.getByRole('dialog').waitFor()
    expect(await axeOf(page), 'dialog').toEqual([])
    const [ink, paper] = (await page.evaluate(
      '[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]',
    )) as [string, string]
    expect(lightness(ink) < lightness(paper)).toBe(colorScheme === 'light')
  })

  it.each([1280, 390])('the API page is rendered without clipping at %i', async (width) => {
    const page = await open({ viewport: { width, height: 900 } })
    await page.goto(`${daemon.url}/api/_info/docs`)
    await page.getByRole('heading', { name: 'warmup/start' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  })
})

/** Waits until every list is loaded. */
async function settled(page: Page): Promise<void> {
  await until(async () => expect(await page.locator('[aria-busy=true]').count()).toBe(0))
}

/** What axe complains about. */
async function axeOf(page: Page): Promise<unknown> {
  // Evaluated by the browser's debugger, for which the page's policy does not count.
  await page.evaluate(axe.source)
  return page.evaluate(
    "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary)]))",
  )
}

/** Names of the visible buttons that reach out of the window. */
const clippedButtons = `[...document.querySelectorAll('button, a.button')].filter((button) => {
  const { left, right, width } = button.getBoundingClientRect()
  return width > 0 && (left < 0 || right > innerWidth)
}).map((button) => button.textContent)`

function lightness(colour: string): number {
  return [...colour.matchAll(/\d+/g)].slice(0, 3).reduce((sum, [part]) => sum + Number(part), 0)
}
