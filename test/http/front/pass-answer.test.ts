import { Readable, Writable } from 'node:stream'
import type { Socket } from 'node:net'
import { expect, it, vi } from 'vitest'
import { PassAnswer } from '../../../src/http/front/pass-answer.ts'
import type { RequestRecord } from '../../../src/http/front/request-record.ts'

it('an endpoint of the daemon may answer with a stream while a slow visitor still has bytes to read', async () => {
  const written: Buffer[] = []
  const socket = new Writable({
    highWaterMark: 1,
    write: (chunk: Buffer, _, done) => {
      written.push(chunk)
      setImmediate(done)
    },
  })
  const connection = {
    socket: Object.assign(socket, { setTimeout: () => {} }) as unknown as Socket,
    isLast: false,
    stall: 1000,
    onError: () => {},
    onAnswered: vi.fn<() => void>(),
  }
  const answer = new PassAnswer(connection, 'GET', { bytes: 0 } as RequestRecord, vi.fn<() => never>())
  answer.send({ status: 200, headers: [], body: Readable.from([Buffer.from('event')], { objectMode: false }) })
  await vi.waitFor(() => expect(connection.onAnswered).toHaveBeenCalledOnce())
  expect(Buffer.concat(written).toString()).toMatch(/^HTTP\/1.1 200 .*\r\n\r\n5\r\nevent\r\n0\r\n\r\n$/s)
})
