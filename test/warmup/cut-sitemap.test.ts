import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import type { Channel } from '../../src/cache/channel.ts'
import { openSitemapFetch } from '../../src/warmup/discover/discover-fetch.ts'

it('a sitemap truncated by a connection reset is not read as complete', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () =>
      socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhttp://shop.example/a\n', () =>
        setImmediate(() => socket.resetAndDestroy()),
      ),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const fetch = openSitemapFetch({ timeout: 60_000, redirects: 0, retryDelay: 1 })
  onTestFinished(() => fetch.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const channel = { scheme: 'http', host: 'shop.example', origin, authorization: null } as Channel
  const read = async () => {
    const { body } = await fetch.get(channel, new URL('http://shop.example/sitemap.txt'), new AbortController().signal)
    let text = ''
    for await (const chunk of body) text += String(chunk)
    return text
  }
  await expect(read()).rejects.toThrow()
})
