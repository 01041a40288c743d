import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { Worker } from 'node:worker_threads'
import { expect, it, onTestFinished } from 'vitest'
import { stopListening } from '../../src/daemon/listen.ts'

/** Asks from a thread of its own, so that connections are made while this one accepts none; the first of the shared numbers counts them. */
const visitors = `
  const { workerData: { port, count, made }, parentPort } = require('node:worker_threads')
  const { connect } = require('node:net')
  for (let visitor = 0; visitor < count; visitor++) {
    let outcome = ''
    const socket = connect(port, '127.0.0.1', () => {
      Atomics.add(made, 0, 1)
      Atomics.notify(made, 0)
    })
    socket.on('data', text => void (outcome += text))
    socket.on('error', error => void (outcome = error.code))
    socket.on('close', () => parentPort.postMessage(outcome))
  }
`

async function connectUnseen(server: Server, count: number): Promise<string[]> {
  const made = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(visitors, {
    eval: true,
    workerData: { port: (server.address() as AddressInfo).port, count, made },
  })
  onTestFinished(async () => void (await worker.terminate()))
  const outcomes: string[] = []
  worker.on('message', (outcome: string) => outcomes.push(outcome))
  await once(worker, 'online')
  while (Atomics.load(made, 0) < count) Atomics.wait(made, 0, Atomics.load(made, 0))
  return outcomes
}

it('who waits in the kernel when a daemon stops listening is accepted first', async () => {
  const server = createServer((socket) => socket.resume().end('hello')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const outcomes = await connectUnseen(server, 20)
  await stopListening(server)
  await expect.poll(() => outcomes.length, { timeout: 10_000 }).toBe(20)
  expect(new Set(outcomes)).toEqual(new Set(['hello']))
})

it('who waits is not served before nobody waits any more: whoever is answered may come again at once', async () => {
  const order: string[] = []
  const server = createServer((socket) => {
    order.push(server.listening ? 'served while listening' : 'served')
    socket.resume().end('hello')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const outcomes = await connectUnseen(server, 3)
  await stopListening(server)
  expect(order).toEqual(['served', 'served', 'served'])
  await expect.poll(() => outcomes.length, { timeout: 10_000 }).toBe(3)
})
