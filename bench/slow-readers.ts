/**
 * The claim: two hundred visitors who take next to nothing of a large answer cost the daemon less than 64 MB.
 *
 *   npx node bench/slow-readers.ts [--rounds 3] [--readers 200] [--json]
 *
 * Each round starts a daemon, brings its heap to its working size, and reads its resident memory for eight seconds while the
 * readers stall: with an answer from the cache and with one that is passed through.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { parseArgs } from 'node:util'
import { openShop, residentMemory } from '../test/http/shop.ts'
import { median } from './lib/statistics.ts'

const MiB = 1024 * 1024
const watched = 8000
const kinds = { stored: 'public, max-age=600', 'passed through': 'private' } as const

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    readers: { type: 'string', default: '200' },
    json: { type: 'boolean', default: false },
  },
})
const readers = Number(values.readers)

/** Peak growth of the daemon's resident memory, in MB of 1024 * 1024. */
async function growth(cacheControl: string): Promise<number> {
  const shop = await openShop()
  const sockets: Socket[] = []
  try {
    shop.origin.on('/large', { headers: { 'content-type': 'application/octet-stream', 'cache-control': cacheControl }, body: Buffer.alloc(12 * MiB, '0123456789abcdef') })
    await shop.ask('/large')
    for (let count = 0; count < 10; count++) await Promise.all(Array.from({ length: 50 }, (_, index) => shop.ask(`/checkout/${index}`)))
    const before = await residentMemory(shop.daemon.pid)
    sockets.push(...(await Promise.all(Array.from({ length: readers }, () => stall(shop.port, shop.host)))))
    let peak = before
    for (const end = performance.now() + watched; performance.now() < end; ) {
      peak = Math.max(peak, await residentMemory(shop.daemon.pid))
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    return (peak - before) / MiB
  } finally {
    for (const socket of sockets) socket.destroy()
    await shop.close()
  }
}

/** Asks for the large answer and reads its first kilobyte. */
async function stall(port: number, host: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', onread: { buffer: Buffer.alloc(1024), callback: () => false } })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(`GET /large HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  return socket
}

const result: Record<string, number[]> = {}
for (const [kind, cacheControl] of Object.entries(kinds)) {
  result[kind] = []
  for (let round = 0; round < Number(values.rounds); round++) result[kind].push(Number((await growth(cacheControl)).toFixed(1)))
}
if (values.json) console.log(JSON.stringify({ readers, growthMB: result }))
else for (const [kind, grown] of Object.entries(result)) console.log(`${kind.padEnd(15)} median +${median(grown)} MB (${grown.join(', ')}), goal under 64`)
