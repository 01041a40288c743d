import { Readable, Writable } from 'node:stream'
import type { Socket } from 'node:net'
import { expect, it, vi } from 'vitest'
import { OriginError } from '../../../src/cache/origin.ts'
import { plainAnswer } from '../../../src/cache/refusal.ts'
import { PassAnswer } from '../../../src/http/front/pass-answer.ts'
import type { RequestRecord } from '../../../src/http/front/request-record.ts'
import { until } from '../../helpers/until.ts'

function open(method: string) {
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
    onError: vi.fn<() => void>(),
    onAnswered: vi.fn<() => void>(),
  }
  const record = { bytes: 0, beginAnswer: () => {} } as unknown as RequestRecord
  const answer = new PassAnswer(connection, method, record, plainAnswer)
  return { answer, record, connection, text: () => Buffer.concat(written).toString() }
}

it('an endpoint of the daemon may answer with a stream while a slow visitor still has bytes to read', async () => {
  const { answer, connection, text } = open('GET')
  answer.send({ status: 200, headers: [], body: Readable.from([Buffer.from('event')], { objectMode: false }) })
  await until(() => expect(connection.onAnswered).toHaveBeenCalledOnce())
  expect(text()).toMatch(/^HTTP\/1.1 200 .*\r\n\r\n5\r\nevent\r\n0\r\n\r\n$/s)
})

it('a response that breaks off before any of it was sent becomes 502', async () => {
  const { answer, record, connection, text } = open('POST')
  answer.onHead({ status: 200, headers: [], length: null })
  answer.onData(Buffer.from('half'))
  answer.onError(new OriginError('The body is invalid', 'broken'))
  await until(() => expect(text()).toContain('\r\n\r\n'))
  expect(text()).toMatch(/^HTTP\/1.1 502 (?!.*half)(?!.*HTTP)/s)
  expect(connection.onAnswered).toHaveBeenCalledOnce()
  expect(record.bytes).toBe(Number(/content-length: (\d+)/i.exec(text())![1]))
})

it.each([
  ['GET', 205, null],
  ['GET', 200, null],
  ['GET', 404, 'gone'],
] as const)('%s %i with the body %j has a length', async (method, status, body) => {
  const { answer, connection, text } = open(method)
  answer.send({ status, headers: [], body })
  await until(() => expect(connection.onAnswered).toHaveBeenCalledOnce())
  await until(() => expect(text()).toMatch(/\r\n\r\n/))
  expect(text()).toMatch(new RegExp(`\r\nContent-Length: ${body?.length ?? 0}\r\n`))
})

it.each([
  ['GET', 204],
  ['GET', 304],
  ['HEAD', 200],
] as const)('%s %i gets no length', async (method, status) => {
  const { answer, text } = open(method)
  answer.send({ status, headers: [], body: null })
  await until(() => expect(text()).toContain('\r\n\r\n'))
  expect(text()).not.toMatch(/content-length/i)
})

it('answers of a turn are written at its end, but not to a visitor who has left by then', async () => {
  const [stays, leaves] = [open('GET'), open('GET')]
  for (const { answer } of [stays, leaves]) {
    const given = { status: 200, headers: [], body: 'page' }
    answer.writeTogether(given, () => answer.send(given))
  }
  leaves.answer.abandon()
  expect(stays.text()).toBe('')
  await until(() => expect(stays.text()).toMatch(/\r\n\r\npage$/))
  expect(stays.connection.onAnswered).toHaveBeenCalledOnce()
  expect(leaves.text()).toBe('')
})

it('an answer that cannot be written ends its connection and is reported', async () => {
  const { answer, connection } = open('GET')
  const error = new Error('no memory')
  answer.writeTogether({ status: 200, headers: [], body: 'page' }, () => {
    throw error
  })
  await until(() => expect(connection.socket.destroyed).toBe(true))
  expect(connection.onError).toHaveBeenCalledExactlyOnceWith('Could not answer a request', error)
})
