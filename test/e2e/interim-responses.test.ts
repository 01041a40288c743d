import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../helpers/until.ts'
import { openShop, watchMemory, type Shop } from '../http/api/shop.ts'
import { speak } from '../http/front/wire.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.close())

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: ${shop.host}\r\n\r\n`
const final = 'HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\nok'

describe.each(['/account/hints', '/hints'])('an interim response of %s', (path) => {
  it.each([
    ['read from the socket', () => [get(path)]],
    ['read by Node', () => [get(path).slice(0, 1), get(path).slice(1)]],
  ])('has only the fields that a visitor may see, %s', async (_, pieces) => {
    const fields = [
      'Link: </a.css>',
      'xkey: secret-tag',
      'Connection: X-Hop',
      'X-Hop: 1',
      'Keep-Alive: timeout=5',
      'Transfer-Encoding: chunked',
      'Set-Cookie: a=b',
    ]
    // A head with both lengths is rejected as a whole.
    for (const more of [fields, ['Link: </a.css>', 'Content-Length: 7']]) {
      shop.origin.raw(
        path,
        (socket) => void socket.end(`HTTP/1.1 103 Early Hints\r\n${more.join('\r\n')}\r\n\r\n${final}`),
      )
      const { answers } = await speak(shop.port, pieces(), { answers: 2 })
      expect(answers).toMatchObject([{ status: 103 }, { status: 200, body: 'ok' }])
      expect(answers[0]!.headers).toEqual({ link: '</a.css>' })
    }
  })
})

it('a visitor who does not read gets no further interim responses', async () => {
  const hint = `HTTP/1.1 103 Early Hints\r\nLink: ${'a'.repeat(200_000)}\r\n\r\n`
  let sent = false
  shop.origin.raw('/account/flood', async (socket) => {
    for (let count = 0; count < 90 && !socket.destroyed; count++) {
      socket.write(hint)
      await pause(2)
    }
    socket.end(final)
    sent = true
  })
  const growth = await watchMemory(shop.daemon.pid)
  const visitor = connect({ port: shop.port, host: '127.0.0.1' }).pause()
  onTestFinished(() => void visitor.destroy())
  visitor.write(get('/account/flood'))
  await until(() => sent)
  let text = ''
  visitor.on('data', (bytes) => (text += bytes)).resume()
  await until(() => text.endsWith('ok'))
  const hints = text.split('103 Early').length - 1
  expect(hints).toBeGreaterThan(0)
  expect(hints).toBeLessThan(90)
  expect(await growth()).toBeLessThan(100e6)
})
