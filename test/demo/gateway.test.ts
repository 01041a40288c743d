import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { VarnishGateway } from '../../src/demo/gateway.ts'
import { CacheInvalidator } from '../../src/demo/invalidator.ts'

/** A reverse proxy that keeps what it is sent. */
async function startProxy(answer = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n') {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.setEncoding('latin1').on('error', () => {})
    let text = ''
    socket.on('data', (chunk: string) => {
      text += chunk
      if (!text.includes('\r\n\r\n')) return
      requests.push(text)
      socket.write(answer)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { requests, url: `http://127.0.0.1:${port}`, host: `127.0.0.1:${port}` }
}

function open(...hosts: string[]) {
  const errors: string[] = []
  return { errors, gateway: new VarnishGateway({ hosts, onError: (message) => errors.push(message) }) }
}

it('tags are sent fifty at a time, each once, to every host', async () => {
  const [first, second] = [await startProxy(), await startProxy()]
  const { gateway, errors } = open(first.url, second.url)
  const tags = Array.from({ length: 60 }, (_, number) => `product-${number}`)
  await gateway.invalidate(tags.slice(0, 10))
  expect(first.requests).toEqual([])
  await gateway.invalidate(tags)
  await gateway.flush()
  for (const { requests, host } of [first, second])
    expect(requests).toEqual([
      `PURGE / HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: GuzzleHttp/7\r\nxkey: ${tags.slice(0, 50).join(' ')}\r\n\r\n`,
      `PURGE / HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: GuzzleHttp/7\r\nxkey: ${tags.slice(50).join(' ')}\r\n\r\n`,
    ])
  expect(errors).toEqual([])
})

it('URLs are purged one by one, and everything is one BAN', async () => {
  const { requests, url, host } = await startProxy()
  const { gateway } = open(url)
  await gateway.ban(['/a', '/b?c=1'])
  await gateway.banAll()
  const rest = ` HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: GuzzleHttp/7\r\n\r\n`
  expect(requests).toEqual([`PURGE /a${rest}`, `PURGE /b?c=1${rest}`, `BAN /${rest}`])
})

it('what a proxy refuses or cannot be told is reported and lost', async () => {
  const failing = await startProxy('HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n')
  const { gateway, errors } = open(failing.url, 'http://127.0.0.1:1')
  await gateway.invalidate(['a'])
  await gateway.flush()
  await gateway.flush()
  expect(failing.requests).toHaveLength(1)
  expect(errors).toEqual([expect.stringContaining('503 Service Unavailable'), expect.stringContaining('ECONNREFUSED')])
})

it('changes gather until the task or a forced one sends them', async () => {
  const { requests, url } = await startProxy()
  const invalidator = new CacheInvalidator(open(url).gateway, null)
  await invalidator.invalidate(['a', 'b'])
  await invalidator.invalidate(['b', 'c'])
  expect(requests).toEqual([])
  expect(await invalidator.sendNoted()).toBe(3)
  expect(await invalidator.sendNoted()).toBe(0)
  await invalidator.invalidate(['d'], true)
  expect(requests.map((request) => /xkey: (.*)\r\n/.exec(request)?.[1])).toEqual(['a b c', 'd'])
  invalidator.close()
})
