import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Distributor } from '../../src/daemon/distributor.ts'

/** Real connections; `sent` is what each process was given and has said nothing of yet. */
async function open(patience?: number) {
  const sent: { taker: string; id: number; socket: Socket }[] = []
  const distributor = new Distributor<string>((taker, id, socket) => void sent.push({ taker, id, socket }), patience)
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const arrive = async (): Promise<{ client: Socket; socket: Socket }> => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    client.on('error', () => {})
    onTestFinished(() => void client.destroy())
    const [socket] = (await once(server, 'connection')) as [Socket]
    distributor.give(socket)
    return { client, socket }
  }
  const take = () => {
    const { taker, id } = sent.shift()!
    distributor.taken(taker, id)
  }
  return { distributor, sent, arrive, take, takers: () => sent.map(({ taker }) => taker) }
}

describe('connections', () => {
  it('go in turns to processes that have taken the one before', async () => {
    const { distributor, arrive, take, takers } = await open()
    for (const taker of ['a', 'b', 'c']) distributor.add(taker)
    for (let count = 0; count < 3; count++) await arrive()
    expect(takers()).toEqual(['a', 'b', 'c'])
    await arrive()
    expect(takers()).toEqual(['a', 'b', 'c'])
    take()
    expect(takers()).toEqual(['b', 'c', 'a'])
  })

  it('that come before anybody is there wait', async () => {
    const { distributor, arrive, sent } = await open()
    const { socket } = await arrive()
    expect(sent).toEqual([])
    distributor.add('a')
    expect(sent).toMatchObject([{ taker: 'a', socket }])
  })

  it('that are taken are closed here', async () => {
    const { distributor, arrive, take } = await open()
    distributor.add('a')
    const { socket } = await arrive()
    expect(socket.destroyed).toBe(false)
    take()
    expect(socket.destroyed).toBe(true)
  })

  it('that a process has not taken before it was gone are given to another one', async () => {
    const { distributor, arrive, sent } = await open()
    distributor.add('a')
    const { socket } = await arrive()
    distributor.lose('a')
    expect(sent).toHaveLength(1)
    distributor.add('b')
    expect(sent[1]).toMatchObject({ taker: 'b', socket })
    // It said so before it was gone, and is heard after it.
    distributor.taken('a', sent[0]!.id)
    expect(socket.destroyed).toBe(false)
  })

  it('that a process says twice something of are not taken away from anybody', async () => {
    const { distributor, arrive, sent } = await open()
    distributor.add('a')
    await arrive()
    const { id } = sent[0]!
    distributor.taken('a', id)
    const { socket } = await arrive()
    distributor.taken('a', id)
    expect(socket.destroyed).toBe(false)
  })

  it('that have not arrived, as what a process says of later ones shows, are given to another one', async () => {
    const { distributor, arrive, sent } = await open()
    distributor.add('a')
    const { socket } = await arrive()
    distributor.heard('a', sent[0]!.id - 1)
    expect(sent).toHaveLength(1)
    distributor.add('b')
    distributor.heard('a', sent[0]!.id)
    expect(sent[1]).toMatchObject({ taker: 'b', socket })
    expect(socket.destroyed).toBe(false)
  })

  it('for which no process comes are closed', async () => {
    const { arrive } = await open(50)
    const { client } = await arrive()
    await once(client, 'close')
  })

  it('are settled when all that came are taken, or were closed', async () => {
    const { distributor, arrive, take, sent } = await open(50)
    await distributor.settled()
    distributor.add('a')
    await arrive()
    await arrive()
    const told: string[] = []
    const settled = distributor.settled().then(() => told.push('settled'))
    take()
    await turn()
    expect(told).toEqual([])
    distributor.lose('a')
    expect(sent).toHaveLength(1)
    // Given back, and nobody comes for it.
    await settled
  })

  it('that nobody has taken at the end are closed, and their clients see it', async () => {
    const { distributor, arrive } = await open()
    const { client } = await arrive()
    distributor.close()
    await once(client, 'close')
    const late = await arrive()
    await once(late.client, 'close')
  })
})
