import { describe, expect, it, onTestFinished } from 'vitest'
import { bearer, fetchToken, json, jsonOf, prefix } from '../helpers/api-client.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { daemon, openSession, operator, origin, reader } from './operators-page.ts'

const stats = `${prefix}/stats`

/** Delivery of the page and its sessions, on the daemon that the test file has started. */
export function describeAccess(): void {
  describe('the page served at /admin', () => {
    it('cannot load external resources, run inline scripts or be framed', async () => {
      const { status, headers } = await exchange(`${daemon.url}/admin`)
      expect(status).toBe(200)
      expect(headers.get('content-security-policy')).toBe(
        `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: ${daemon.url}; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`,
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

    it("belongs to the shop under a channel's public name, with its session", async () => {
      const shop = await startDaemon({ args: ['--origin', origin.url, '--url', 'http://shop.example'] })
      onTestFinished(async () => void (await shop.stop()))
      origin.on('/admin/session', { body: 'the shop’s own' })
      for (const path of ['/admin/admin.js', '/admin/session']) {
        const seen = await exchange(`${shop.url}${path}`, { headers: { host: 'shop.example' } })
        expect(seen.body.toString()).toBe('the shop’s own')
        expect((await exchange(`${shop.url}${path}`)).body.toString()).not.toBe('the shop’s own')
      }
    })
  })

  describe('a session of the admin page', () => {
    const ask = (headers: Record<string, string>, path = stats) => exchange(`${daemon.url}${path}`, { headers })

    it('is an HttpOnly cookie that no other site can have sent, and Secure behind TLS', async () => {
      const { line, answer } = await openSession(operator)
      expect(line).toMatch(/^pagecache-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(jsonOf(answer)).toMatchObject({ session: { clientId: operator.clientId, scopes: ['read', 'write'] } })
      const behindTls = await openSession(operator, { 'x-forwarded-proto': 'https' })
      expect(behindTls.line).toMatch(/^__Host-pagecache-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
      expect((await ask(behindTls.headers)).status).toBe(200)
      // A cookie that any site of the same domain could have set, on a connection that has the better kind.
      const { headers } = await openSession(operator)
      expect((await ask({ ...headers, 'x-forwarded-proto': 'https' })).status).toBe(401)
    })

    it('needs its CSRF token, exactly one cookie, and a request of its own origin', async () => {
      const { headers, cookie } = await openSession(operator)
      const other = await openSession(operator)
      const both = `${cookie.name}=${cookie.value}; ${cookie.name}=${other.cookie.value}`
      const statuses = await Promise.all(
        [
          headers,
          { cookie: headers['cookie']! },
          { ...headers, 'x-csrf-token': 'wrong' },
          { ...headers, 'x-csrf-token': other.headers['x-csrf-token']! },
          { ...headers, cookie: both },
          { ...headers, 'sec-fetch-site': 'cross-site' },
          { ...headers, 'sec-fetch-site': 'same-site' },
          { ...headers, origin: 'http://evil.example' },
          { ...headers, 'sec-fetch-site': 'same-origin' },
          // An Authorization field is judged by itself.
          { ...headers, authorization: 'Bearer wrong' },
        ].map(async (fields) => (await ask(fields)).status),
      )
      expect(statuses).toEqual([200, 401, 401, 401, 401, 403, 403, 403, 200, 401])
    })

    it('has the rights of its client', async () => {
      const { headers } = await openSession(reader)
      const body = json({ urls: [`${daemon.url}/a`] })
      const purge = (fields: Record<string, string>) =>
        exchange(`${daemon.url}${prefix}/purge`, { method: 'POST', ...body, headers: { ...body.headers, ...fields } })
      expect((await ask(headers)).status).toBe(200)
      expect((await purge(headers)).status).toBe(403)
      expect((await purge((await openSession(operator)).headers)).status).toBe(200)
    })

    it('opens with a valid token alone, and never with a value that the browser brings along', async () => {
      const post = (headers: Record<string, string>) =>
        exchange(`${daemon.url}/admin/session`, { method: 'POST', headers })
      expect((await post({})).status).toBe(401)
      expect((await post({ authorization: 'Bearer wrong' })).status).toBe(401)
      const earlier = await openSession(operator)
      expect((await post({ cookie: earlier.headers['cookie']! })).status).toBe(401)
      expect(
        (await post({ ...bearer(await fetchToken(daemon.url, operator)), 'sec-fetch-site': 'same-site' })).status,
      ).toBe(403)
      const next = await openSession(operator, { cookie: earlier.headers['cookie']! })
      expect(next.cookie.value).not.toBe(earlier.cookie.value)
      expect((await ask(earlier.headers)).status).toBe(401)
    })

    it('tells the page whose session the browser has, and ends with the logout', async () => {
      const { headers, cookie } = await openSession(operator)
      const show = async (fields: Record<string, string>) => jsonOf(await ask(fields, '/admin/session'))
      expect(await show({ cookie: headers['cookie']! })).toMatchObject({
        session: { clientId: operator.clientId, csrfToken: headers['x-csrf-token'] },
      })
      expect(await show({})).toEqual({ success: true, session: null })
      expect(await show({ cookie: `${cookie.name}=${'x'.repeat(43)}` })).toEqual({ success: true, session: null })
      const end = (fields: Record<string, string>) =>
        exchange(`${daemon.url}/admin/session`, { method: 'DELETE', headers: fields })
      expect((await end({ cookie: headers['cookie']! })).status).toBe(403)
      expect((await ask(headers)).status).toBe(200)
      const ended = await end(headers)
      expect([ended.status, ended.headers.get('set-cookie')]).toEqual([
        200,
        'pagecache-session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
      ])
      expect((await ask(headers)).status).toBe(401)
    })

    it('ends with a logout that carries a token too', async () => {
      const { headers } = await openSession(operator)
      const token = bearer(await fetchToken(daemon.url, operator))
      const end = (fields: Record<string, string>) =>
        exchange(`${daemon.url}/admin/session`, { method: 'DELETE', headers: { ...fields, ...token } })
      expect((await end({ cookie: headers['cookie']! })).status).toBe(403)
      expect((await end(headers)).status).toBe(200)
      expect((await ask(headers)).status).toBe(401)
    })

    it('never reaches the shop, whichever way a request takes', async () => {
      const { headers, cookie } = await openSession(operator)
      origin.on('/seen', { headers: { 'cache-control': 's-maxage=60' }, body: 'seen' })
      origin.forget()
      const fields = { cookie: `first=1; ${headers['cookie']}; __Host-pagecache-session=x; last=2` }
      await exchange(`${daemon.url}/seen?miss`, { headers: fields })
      await exchange(`${daemon.url}/seen?alone`, { headers: { cookie: headers['cookie']! } })
      await exchange(`${daemon.url}/seen?post`, { method: 'POST', body: 'x', headers: fields })
      await exchange(`${daemon.url}/checkout/cart`, { headers: fields })
      await exchange(`${daemon.url}/seen?odd`, { headers: { ...fields, range: 'bytes=0-1' } })
      expect(origin.requests.length).toBeGreaterThan(4)
      const cookies = origin.requests.map((request) => request.headers['cookie'] ?? '')
      expect(cookies.join()).not.toContain(cookie.value)
      expect(cookies.join()).not.toContain('pagecache-session')
      expect(origin.last('/checkout/cart').headers['cookie']).toBe('first=1; last=2')
    })
  })
}
