import { once } from 'node:events'
import { connect, createServer, Socket, type AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { readShared } from '../../../src/http/front/shared-reads.ts'
import { until } from '../../helpers/until.ts'

/** A server; returns what connects to it. Chunks that start with `take` are taken, all others emitted. */
async function open() {
  const server = createServer({ allowHalfOpen: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return async () => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay()
    const [accepted] = (await once(server, 'connection')) as [Socket]
    onTestFinished(() => [client, accepted].forEach((socket) => socket.destroy()))
    const taken: { text: string; memory: ArrayBufferLike }[] = []
    readShared(accepted, (chunk) => {
      if (!chunk.toString().startsWith('take')) return false
      taken.push({ text: chunk.toString(), memory: chunk.buffer })
      return true
    })
    const emitted: Buffer[] = []
    accepted.on('data', (chunk: Buffer) => emitted.push(chunk))
    return { client, accepted, taken, emitted, texts: () => emitted.map(String) }
  }
}

it('connections share the memory of chunks that are taken', async () => {
  const visit = await open()
  const [one, other] = [await visit(), await visit()]
  one.client.write('take 1')
  other.client.write('take 2')
  await until(() => one.taken.length + other.taken.length === 2)
  expect([...one.taken, ...other.taken].map(({ text }) => text)).toEqual(['take 1', 'take 2'])
  // If this fails, a new version of Node has renamed what the option `onread` sets: shared-reads.ts then changes nothing.
  expect(one.taken[0]?.memory).toBe(other.taken[0]?.memory)
  expect([...one.emitted, ...other.emitted]).toEqual([])
})

it('other chunks are emitted with bytes of their own', async () => {
  const visit = await open()
  const [one, other] = [await visit(), await visit()]
  one.client.write('leave 1')
  await until(() => one.emitted.length === 1)
  other.client.write('leave 2')
  other.client.write('take 3')
  await until(() => other.emitted.length + other.taken.length > 0)
  one.client.write('take 4')
  await until(() => one.taken.length === 1)
  expect(one.texts()).toEqual(['leave 1'])
  // A part of a larger buffer would keep all of it in memory as long as the chunk.
  expect(one.emitted[0]?.buffer.byteLength).toBe('leave 1'.length)
  expect(other.texts().join('')).toMatch(/^leave 2/)
})

it('a chunk that fills the shared memory is copied too', async () => {
  const { client, accepted, emitted } = await (await open())()
  accepted.pause()
  client.write(Buffer.alloc(2 ** 20, 'a'))
  await pause(100)
  accepted.resume()
  await until(() => emitted.reduce((sum, { length }) => sum + length, 0) === 2 ** 20)
  expect(emitted.map(({ length }) => length)).toContain(65_536)
  client.write('take')
  await pause(50)
  expect(emitted.every((chunk) => chunk.every((byte) => byte === 97))).toBe(true)
  expect(new Set(emitted.map(({ buffer }) => buffer)).size).toBe(emitted.length)
})

it('nothing is taken after a chunk that fills the shared memory, because libuv reads it in the same turn', async () => {
  const { client, accepted } = await (await open())()
  const chunks: { length: number; isTaken: boolean }[] = []
  const note = (length: number, isTaken: boolean) => void chunks.push({ length, isTaken })
  readShared(accepted, ({ length }) => (note(length, true), true))
  accepted.removeAllListeners('data').on('data', ({ length }: Buffer) => note(length, false))
  client.write(Buffer.alloc(2 ** 21))
  await until(() => chunks.reduce((sum, { length }) => sum + length, 0) === 2 ** 21)
  const following = chunks.filter((_, at) => chunks[at - 1]?.length === 65_536)
  expect(new Set(following.map(({ isTaken }) => isTaken))).toEqual(new Set([false]))
  expect(chunks[0]?.isTaken).toBe(true)
})

it('nothing is taken from a paused connection, or before what it has not emitted yet', async () => {
  const { client, accepted, taken, texts } = await (await open())()
  accepted.pause()
  client.write('take 1')
  await pause(50)
  expect([taken, texts()]).toEqual([[], []])
  accepted.unshift('leave 0')
  let before: number | null = null
  accepted.once('data', () => (before = taken.length))
  accepted.resume()
  await until(() => taken.length === 1)
  expect([before, texts(), taken[0]?.text]).toEqual([0, ['leave 0'], 'take 1'])
})

it('the end of a connection is emitted', async () => {
  const { client, accepted, taken, texts } = await (await open())()
  client.end('take 1')
  await once(accepted, 'end')
  expect([taken[0]?.text, texts()]).toEqual(['take 1', []])
})

it('a socket without a handle stays as it is', () => {
  const socket = new Socket()
  expect(() => readShared(socket, () => true)).not.toThrow()
  socket.destroy()
})
