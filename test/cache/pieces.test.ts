import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { OriginClient } from '../../src/cache/origin.ts'
import { releaseSentPieces } from '../../src/cache/pieces.ts'

/** A body without repetition. */
const body = Buffer.from(Array.from({ length: 300_000 }, (_, index) => `${index};`).join(''))

const shop = createServer((request, response) => {
  if (request.url === '/length') return void response.end(body)
  // Small chunks, so that one read has several chunks and one chunk spans two reads.
  for (let at = 0; at < body.length; at += 5000) response.write(body.subarray(at, at + 5000))
  response.end()
})
let client: OriginClient
beforeAll(async () => {
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve))
  client = new OriginClient({ connect: 60_000, headers: 60_000, idle: 60_000, total: 60_000 })
})
afterAll(async () => {
  await client.close()
  shop.close()
})

async function ask(target: string) {
  const origin = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`
  return await client.send({
    origin,
    target,
    method: 'GET',
    headers: [],
    body: null,
    signal: null,
    onInterim: () => {},
  })
}

const readers: Record<string, (done: () => void) => void> = {
  'reads at once': (done) => done(),
  'reads one turn later': (done) => void setImmediate(done),
}

it.each(['/length', '/chunked'].flatMap((target) => Object.keys(readers).map((name) => [target, name] as const)))(
  '%s for a reader that %s is complete, and its memory is freed',
  async (target, name) => {
    const seen: Buffer[] = []
    const memory = new Set<ArrayBufferLike>()
    const reader = new Writable({
      highWaterMark: 1,
      write(piece: Buffer, _, done) {
        memory.add(piece.buffer)
        // Copied when it is consumed, as a socket would: memory freed too early shows as missing bytes.
        readers[name]!(() => (seen.push(Buffer.from(piece)), done()))
      },
    })
    const { body: answer } = await ask(target)
    releaseSentPieces(answer, reader)
    await pipeline(answer, reader)
    expect(Buffer.concat(seen).equals(body)).toBe(true)
    const kept = [...memory].filter((each) => !(each as ArrayBuffer).detached)
    expect(memory.size).toBeGreaterThan(10)
    // The last pieces, and those that the parser joined.
    expect(kept.length).toBeLessThan(memory.size / 4)
  },
)

it('concurrent responses do not mix although they share a read buffer', async () => {
  const bodies = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const { body: answer } = await ask(index % 2 === 0 ? '/length' : '/chunked')
      const parts: Buffer[] = []
      for await (const piece of answer) parts.push(piece as Buffer)
      return Buffer.concat(parts)
    }),
  )
  expect(bodies.filter((each) => !each.equals(body))).toEqual([])
})

it('a paused reader has at most two pieces buffered', async () => {
  const { body: answer } = await ask('/length')
  let held = 0
  answer.on('data', (piece: Buffer) => {
    held += piece.length
    answer.pause()
  })
  await new Promise((resolve) => answer.once('pause', resolve))
  // Other responses are read meanwhile.
  for (let count = 0; count < 5; count++) for await (const piece of (await ask('/length')).body) void piece
  expect(held + answer.readableLength).toBeLessThanOrEqual(64 * 1024)
  answer.destroy()
})
