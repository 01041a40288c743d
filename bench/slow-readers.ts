/**
 * Claim: clients that request large responses and read slowly, or not at all, cost the daemon memory within one budget; so do responses
 * that decompress to a multiple of their size.
 *
 *   npx node bench/slow-readers.ts [--rounds 3] [--kind "stored pages, pipelined"] [--json]
 *
 * Each round starts a daemon and brings its heap to its working size. Then it samples the resident memory for eight seconds while the
 * clients run, and once more five seconds after they have left.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { openShop, residentMemory, type Shop } from '../test/http/api/shop.ts'
import { median } from './lib/statistics.ts'

const MiB = 1024 * 1024
const watched = 8000
const afterwards = 5000
const pages = 60
const paths = Array.from({ length: pages }, (_, number) => `/page-${number}`)

interface Kind {
  /** Maximum growth of the resident memory, in MiB. */
  goal: number
  /** Sets up the shop, and sends the requests that precede the measurement. */
  prepare(shop: Shop): Promise<void>
  /** Starts the clients; their sockets are closed at the end. */
  attack(shop: Shop): Promise<Socket[]>
}

const stored = { 'content-type': 'application/octet-stream', 'cache-control': 'public, max-age=600' }
const text = { ...stored, 'content-type': 'text/plain' }

const kinds: Record<string, Kind> = {
  'one stored answer, 200 readers': {
    goal: 64,
    prepare: (shop) => haveOne(shop, stored['cache-control']),
    attack: (shop) => readers(200, () => stall(shop, ['/large'])),
  },
  'bypassed, 200 readers': {
    goal: 64,
    prepare: (shop) => haveOne(shop, 'private'),
    attack: (shop) => readers(200, () => stall(shop, ['/large'])),
  },
  'stored pages, pipelined': {
    goal: 128,
    prepare: (shop) => havePages(shop, stored, (number) => Buffer.alloc(5 * MiB, `${number} 0123456789abcdef`)),
    attack: (shop) =>
      readers(20, (number) =>
        stall(
          shop,
          Array.from({ length: 30 }, (_, index) => paths[(number * 30 + index) % pages]!),
        ),
      ),
  },
  'stored pages, 1 kB/s': {
    goal: 128,
    prepare: (shop) => havePages(shop, stored, (number) => Buffer.alloc(5 * MiB, `${number} 0123456789abcdef`)),
    attack: (shop) => readers(200, (number) => trickle(shop, paths[number % pages]!)),
  },
  'small stored pages, pipelined': {
    goal: 128,
    prepare: (shop) => havePages(shop, stored, (number) => Buffer.alloc(900 * 1024, `${number} 0123456789abcdef`), 400),
    attack: (shop) =>
      readers(100, (number) =>
        stall(
          shop,
          Array.from({ length: 30 }, (_, index) => `/page-${(number * 4 + index) % 400}`),
        ),
      ),
  },
  'stored br, identity requested': {
    goal: 256,
    prepare: (shop) => havePages(shop, text, (number) => Buffer.alloc(14 * MiB, `${number} 0123456789abcdef`)),
    attack: (shop) => readers(60, (number) => stall(shop, [paths[number]!])),
  },
  'stored br, gzip requested': {
    goal: 256,
    prepare: (shop) => havePages(shop, text, (number) => Buffer.alloc(14 * MiB, `${number} 0123456789abcdef`)),
    attack: (shop) => readers(60, (number) => stall(shop, [paths[number]!], 'Accept-Encoding: gzip\r\n')),
  },
  'gzip that decompresses to 60 MB': {
    goal: 256,
    prepare: (shop) => {
      const bomb = gzipSync(Buffer.alloc(60 * MiB, 'a'))
      for (const path of paths) shop.origin.on(path, { headers: { ...text, 'content-encoding': 'gzip' }, body: bomb })
      return Promise.resolve()
    },
    attack: (shop) => readers(60, (number) => stall(shop, [paths[number]!])),
  },
}

async function haveOne(shop: Shop, cacheControl: string): Promise<void> {
  shop.origin.on('/large', {
    headers: { ...stored, 'cache-control': cacheControl },
    body: Buffer.alloc(12 * MiB, '0123456789abcdef'),
  })
  await shop.ask('/large')
}

async function havePages(
  shop: Shop,
  headers: Record<string, string>,
  bodyOf: (number: number) => Buffer,
  count = pages,
): Promise<void> {
  for (let number = 0; number < count; number++) {
    shop.origin.on(`/page-${number}`, { headers, body: bodyOf(number) })
    await shop.ask(`/page-${number}`, { headers: { 'accept-encoding': 'br' } })
    shop.origin.on(`/page-${number}`, { status: 500, body: 'stored before' })
  }
}

function readers(count: number, open: (number: number) => Promise<Socket>): Promise<Socket[]> {
  return Promise.all(Array.from({ length: count }, (_, number) => open(number)))
}

async function ask(socket: Socket, shop: Shop, wanted: readonly string[], fields: string): Promise<Socket> {
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(wanted.map((path) => `GET ${path} HTTP/1.1\r\nHost: ${shop.host}\r\n${fields}\r\n`).join(''))
  return socket
}

/** Sends a request and reads the first kilobyte. */
function stall(shop: Shop, wanted: readonly string[], fields = ''): Promise<Socket> {
  return ask(
    connect({ port: shop.port, host: '127.0.0.1', onread: { buffer: Buffer.alloc(1024), callback: () => false } }),
    shop,
    wanted,
    fields,
  )
}

/** Sends a request and reads one kilobyte per second. */
function trickle(shop: Shop, wanted: string): Promise<Socket> {
  const socket = connect({
    port: shop.port,
    host: '127.0.0.1',
    onread: {
      buffer: Buffer.alloc(1024),
      callback: () => {
        setTimeout(() => socket.resume(), 1000)
        return false
      },
    },
  })
  return ask(socket, shop, [wanted], '')
}

/** Growth of the daemon's resident memory, in MiB: its peak, and the rest after the clients have left. */
async function grow(kind: Kind): Promise<{ peak: number; left: number }> {
  const shop = await openShop()
  const sockets: Socket[] = []
  try {
    await kind.prepare(shop)
    for (let count = 0; count < 10; count++)
      await Promise.all(Array.from({ length: 50 }, (_, index) => shop.ask(`/checkout/${index}`)))
    const before = await residentMemory(shop.daemon.pid)
    const growth = async () => ((await residentMemory(shop.daemon.pid)) - before) / MiB
    sockets.push(...(await kind.attack(shop)))
    let peak = 0
    for (const end = performance.now() + watched; performance.now() < end;) {
      peak = Math.max(peak, await growth())
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => setTimeout(resolve, afterwards))
    return { peak, left: await growth() }
  } finally {
    for (const socket of sockets) socket.destroy()
    await shop.close()
  }
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    kind: { type: 'string', multiple: true },
    json: { type: 'boolean', default: false },
  },
})

const result: Record<string, { goal: number; peaks: number[]; left: number[] }> = {}
for (const name of values.kind ?? Object.keys(kinds)) {
  const kind = kinds[name]!
  const rounds: { peak: number; left: number }[] = []
  for (let round = 0; round < Number(values.rounds); round++) rounds.push(await grow(kind))
  const rounded = (of: 'peak' | 'left') => rounds.map((each) => Number(each[of].toFixed(1)))
  result[name] = { goal: kind.goal, peaks: rounded('peak'), left: rounded('left') }
  const { goal, peaks, left } = result[name]
  if (!values.json)
    console.log(
      `${name.padEnd(32)} median +${median(peaks)} MiB (${peaks.join(', ')}), target under ${goal}; afterwards +${median(left)}`,
    )
}
if (values.json) console.log(JSON.stringify({ growthMiB: result }))
