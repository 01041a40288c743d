import { createHmac } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempDir } from '../helpers/temp-dir.ts'
import { hasChromium, html, openBrowser, stage } from './visitor.ts'

const visit = openBrowser()
const secret = 'a secret of thirty-two bytes or more'

function tokenOf(customer: string): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256' })}.${part({ sub: customer, exp: Math.floor(Date.now() / 1000) + 600 })}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

describe.skipIf(!hasChromium)(`a customer in Chromium${hasChromium ? '' : ' (no chromium on this machine)'}`, () => {
  it('is recorded with events after the login only, while pages are served from the cache without a cookie', async () => {
    const secretFile = join(await tempDir(), 'customer.secret')
    await writeFile(secretFile, secret)
    const { shop, page, see, recorded, faults } = await visit([{}], {
      config: { customerToken: { cookie: 'shop-customer', secretFile } },
    })
    const headers = {
      'content-type': 'text/html',
      'cache-control': 'no-store',
      'set-cookie': `shop-customer=${tokenOf('customer-7')}; Path=/vendor-stage; HttpOnly; SameSite=Lax`,
    }
    shop.origin.on('/account/login', { status: 200, headers, body: html.replace(/<script.*<\/script>/, '') })
    await see()
    await recorded(1)
    await page.goto(`${shop.url}/account/login`)
    await see()
    await stage(page).getByRole('button', { name: 'Close' }).click()
    await recorded(3)
    const events = await shop.events()
    expect(events.map((event) => `${event.event_type} ${event.customer_id}`).toSorted()).toEqual([
      'close customer-7',
      'impression customer-7',
      'impression null',
    ])
    const again = await page.goto(`${shop.url}/shoes`)
    expect(again!.headers()['cache-status']).toMatch(/hit/)
    expect(await again!.request().headerValue('cookie')).toBeNull()
    expect(shop.origin.hits('/shoes')).toBe(1)
    expect(faults).toEqual([])
  })
})
