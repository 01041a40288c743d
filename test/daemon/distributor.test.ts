import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Distributor } from '../../src/daemon/distributor.ts'

/** A distributor of real connections. `sent`: what each worker was sent and has not acknowledged. */
async function open(waitLimit?: number) {
  const sent: { worker: string; id: number; socket: Socket }[] = []
  const distributor = new Distributor<string>((worker, id, socket) => void sent.push({ worker, id, socket }), waitLimit)
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const arrive = async (): Promise<{ client: Socket; socket: Socket }> => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    client.on('error', () => {})
    onTestFinished(() => void client.destroy())
    const [socket] = (await once(server, 'connection')) as [Socket]
    distributor.distribute(socket)
    return { client, socket }
  }
  const acknowledge = () => {
    const { worker, id } = sent.shift()!
    distributor.acknowledge(worker, id)
  }
  return { distributor, sent, arrive, acknowledge, workers: () => sent.map(({ worker }) => worker) }
}

describe('connections', () => {
  it('go to workers that have acknowledged the previous one, in turns', async () => {
    const { distributor, arrive, acknowledge, workers } = await open()
    for (const worker of ['a', 'b', 'c']) distributor.add(worker)
    for (let count = 0; count < 3; count++) await arrive()
    expect(workers()).toEqual(['a', 'b', 'c'])
    await arrive()
    expect(workers()).toEqual(['a', 'b', 'c'])
    acknowledge()
    expect(workers()).toEqual(['b', 'c', 'a'])
  })

  it('wait for the first worker', async () => {
    const { distributor, arrive, sent } = await open()
    const { socket } = await arrive()
    expect(sent).toEqual([])
    distributor.add('a')
    expect(sent).toMatchObject([{ worker: 'a', socket }])
  })

  it('are closed here once acknowledged', async () => {
    const { distributor, arrive, acknowledge } = await open()
    distributor.add('a')
    const { socket } = await arrive()
    expect(socket.destroyed).toBe(false)
    acknowledge()
    expect(socket.destroyed).toBe(true)
  })

  it('go to another worker if theirs ended without acknowledging them', async () => {
    const { distributor, arrive, sent } = await open()
    distributor.add('a')
    const { socket } = await arrive()
    distributor.remove('a')
    expect(sent).toHaveLength(1)
    distributor.add('b')
    expect(sent[1]).toMatchObject({ worker: 'b', socket })
    // A late acknowledgement of the ended worker.
    distributor.acknowledge('a', sent[0]!.id)
    expect(socket.destroyed).toBe(false)
  })

  it('stay with their worker after a duplicate acknowledgement', async () => {
    const { distributor, arrive, sent } = await open()
    distributor.add('a')
    await arrive()
    const { id } = sent[0]!
    distributor.acknowledge('a', id)
    const { socket } = await arrive()
    distributor.acknowledge('a', id)
    expect(socket.destroyed).toBe(false)
  })

  it('go to another worker if later messages show that they did not arrive', async () => {
    const { distributor, arrive, sent } = await open()
    distributor.add('a')
    const { socket } = await arrive()
    distributor.confirmRead('a', sent[0]!.id - 1)
    expect(sent).toHaveLength(1)
    distributor.add('b')
    distributor.confirmRead('a', sent[0]!.id)
    expect(sent[1]).toMatchObject({ worker: 'b', socket })
    expect(socket.destroyed).toBe(false)
  })

  it('are closed if no worker becomes free', async () => {
    const { arrive } = await open(50)
    const { client } = await arrive()
    await once(client, 'close')
  })

  it('are settled once all are acknowledged or closed', async () => {
    const { distributor, arrive, acknowledge, sent } = await open(50)
    await distributor.settled()
    distributor.add('a')
    await arrive()
    await arrive()
    const events: string[] = []
    const settled = distributor.settled().then(() => events.push('settled'))
    acknowledge()
    await turn()
    expect(events).toEqual([])
    distributor.remove('a')
    expect(sent).toHaveLength(1)
    // Returned to the queue and closed, since there is no other worker.
    await settled
  })

  it('are closed at the end if no worker has acknowledged them', async () => {
    const { distributor, arrive } = await open()
    const { client } = await arrive()
    distributor.close()
    await once(client, 'close')
    const late = await arrive()
    await once(late.client, 'close')
  })
})
