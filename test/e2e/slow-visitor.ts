import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { until } from '../helpers/until.ts'
import type { Shop } from '../http/api/shop.ts'

/** A visitor who asks for 60 MB at `path` and does not read holds the shop back, and gets everything in the end. */
export async function expectHeldBack(
  shop: Pick<Shop, 'origin' | 'port'>,
  path: string,
  cacheControl: string,
  request: string,
): Promise<void> {
  const size = 60 * 1024 * 1024
  let sent = 0
  let held = false
  shop.origin.on(path, async (_, response) => {
    response.writeHead(200, { 'cache-control': cacheControl, 'content-length': size })
    for (const piece = Buffer.alloc(64 * 1024, 'x'); sent < size; sent += piece.length) {
      if (response.write(piece)) continue
      held = true
      await new Promise((resolve) => response.once('drain', resolve))
    }
    response.end()
  })
  const socket = connect({ port: shop.port, host: '127.0.0.1' })
  onTestFinished(() => void socket.destroy())
  socket.write(request)
  await until(() => held)
  // As much as fits into the buffers of four sockets.
  await until(async () => {
    const before = sent
    await pause(200)
    return sent === before
  })
  expect(sent).toBeLessThan(size)
  let received = 0
  socket.on('data', (chunk) => (received += chunk.length))
  await until(() => received > size)
}
