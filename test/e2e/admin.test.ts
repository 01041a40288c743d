import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '../helpers/api-client.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { until } from '../helpers/until.ts'
import { daemon, go, hasChromium, logIn, open, operator, origin, reader, views } from './operators-page.ts'

describe('the page served at /admin', () => {
  it('cannot load external resources, run inline scripts or be framed', async () => {
    const { status, headers } = await exchange(`${daemon.url}/admin`)
    expect(status).toBe(200)
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    )
    expect([
      headers.get('x-content-type-options'),
      headers.get('x-frame-options'),
      headers.get('referrer-policy'),
    ]).toEqual(['nosniff', 'DENY', 'no-referrer'])
  })

  it('answers 304 to a cached copy, redirects /admin/ to /admin, and rejects other methods', async () => {
    const { headers } = await exchange(`${daemon.url}/admin/admin.js`)
    expect(
      (await exchange(`${daemon.url}/admin/admin.js`, { headers: { 'if-none-match': headers.get('etag')! } })).status,
    ).toBe(304)
    const moved = await exchange(`${daemon.url}/admin/`)
    expect([moved.status, moved.headers.get('location')]).toEqual([308, '/admin'])
    const posted = await exchange(`${daemon.url}/admin`, { method: 'POST' })
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it("belongs to the shop under a channel's public name", async () => {
    const shop = await startDaemon({ args: ['--origin', origin.url, '--url', 'http://shop.example'] })
    onTestFinished(async () => void (await shop.stop()))
    const seen = await exchange(`${shop.url}/admin/admin.js`, { headers: { host: 'shop.example' } })
    expect(seen.body.toString()).toBe('the shop’s own')
    expect((await exchange(`${shop.url}/admin/admin.js`)).body.toString()).not.toBe('the shop’s own')
  })
})

describe.skipIf(!hasChromium)('the operators’ page in Chromium (skipped where chromium is not installed)', () => {
  it('rejects a wrong secret with a message', async () => {
    const page = await open()
    await page.getByLabel('Client id').fill(operator.clientId)
    await page.getByLabel('Client secret').fill('wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await until(async () => expect(await page.getByRole('alert').textContent()).toMatch(/\w/))
    expect(await page.getByRole('navigation').count()).toBe(0)
  })

  it('shows a read-only client which actions it lacks permission for', async () => {
    const page = await open()
    await logIn(page, reader)
    await go(page, 'Warmup')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByText('This client has read-only access.').waitFor()
  })

  it('keeps secret and token only in memory: a reload discards them', async () => {
    const page = await open()
    await logIn(page)
    const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])')
    expect(kept).toBe('[{},{},""]')
    expect(page.url()).not.toContain(operator.clientId)
    await page.reload()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
  })

  it('of a revoked client says so, and does not count as failed logins of its address', async () => {
    const leaver = await createClient(daemon, 'leaver')
    const page = await open()
    await logIn(page, leaver)
    const refused: string[] = []
    page.on(
      'response',
      (response) => response.url().endsWith('/api/oauth/token') && refused.push(String(response.status())),
    )
    await daemon.run('client:revoke', leaver.clientId, '--yes')
    for (const view of ['Overview', 'Warmup', 'Queue and tasks']) {
      await go(page, view)
      await page.getByText('This client was revoked or its secret has changed. Log out.').first().waitFor()
    }
    expect(refused).toEqual(['401'])
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
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
    for (const view of views) {
      await page.getByRole('link', { name: view }).focus()
      await page.keyboard.press('Enter')
      await until(async () => expect(await page.evaluate('document.activeElement.textContent')).toBe(view))
      const nameless = await page.evaluate(
        `[...document.querySelectorAll('input, select, textarea, button')].filter((element) => !(element.labels?.length || element.getAttribute('aria-label') || element.textContent.trim())).length`,
      )
      expect(nameless, view).toBe(0)
    }
  })

  it('is rendered without clipping in light and dark, wide and narrow', async () => {
    const drawn = new Set<string>()
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1280, 380]) {
        const page = await open({ colorScheme, viewport: { width, height: 900 } })
        await logIn(page)
        await page.locator('canvas').waitFor()
        drawn.add((await page.screenshot()).toString('base64'))
        for (const view of views) {
          await go(page, view)
          expect(
            await page.evaluate('document.documentElement.scrollWidth - innerWidth'),
            `${view} at ${width}`,
          ).toBeLessThanOrEqual(0)
        }
        const [ink, paper] = (await page.evaluate(
          '[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]',
        )) as [string, string]
        expect(lightness(ink) < lightness(paper)).toBe(colorScheme === 'light')
      }
    }
    expect(drawn.size).toBe(4)
  })

  it.each([1280, 380])('the API page is rendered without clipping at %i', async (width) => {
    const page = await open({ viewport: { width, height: 900 } })
    await page.goto(`${daemon.url}/api/_info/docs`)
    await page.getByRole('heading', { name: 'warmup/start' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  })
})

function lightness(colour: string): number {
  return [...colour.matchAll(/\d+/g)].slice(0, 3).reduce((sum, [part]) => sum + Number(part), 0)
}
