import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { Worker } from 'node:worker_threads'
import { expect, it, onTestFinished } from 'vitest'
import { stopListening } from '../../src/daemon/listen.ts'
import { until } from '../helpers/until.ts'

/** Connects from another thread, so that the kernel queues connections while this one accepts none. Counts them in the shared number. */
const clients = `
  const { workerData: { port, count, made }, parentPort } = require('node:worker_threads')
  const { connect } = require('node:net')
  for (let client = 0; client < count; client++) {
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

async function fillBacklog(server: Server, count: number): Promise<string[]> {
  const made = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(clients, {
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

it('stopping serves the connections in the backlog', async () => {
  const server = createServer((socket) => socket.resume().end('hello')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const outcomes = await fillBacklog(server, 20)
  await stopListening(server)
  await until(() => expect(outcomes.length).toBe(20))
  expect(new Set(outcomes)).toEqual(new Set(['hello']))
})

it('stopping serves the backlog only once it is empty, because an answered client may connect again', async () => {
  const order: string[] = []
  const server = createServer((socket) => {
    order.push(server.listening ? 'served while listening' : 'served')
    socket.resume().end('hello')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const outcomes = await fillBacklog(server, 3)
  await stopListening(server)
  expect(order).toEqual(['served', 'served', 'served'])
  await until(() => expect(outcomes.length).toBe(3))
})
