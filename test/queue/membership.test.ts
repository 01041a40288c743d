import { expect, it } from 'vitest'
import { claimOne } from './consuming.ts'
import { testQueue } from './open-queue.ts'

const worker = { kind: 'consumer', transports: ['async'], types: ['a'] } as const

it('a worker that was taken over by others takes no more messages', async () => {
  const { queue } = await testQueue()
  const message = { transport: 'async', type: 'a', payload: null, group: 'g' } as const
  await queue.dispatch([message, message])
  const [frozen, other] = [await queue.join(worker), await queue.join(worker)]
  const held = await claimOne(frozen, 'a')
  expect(await other.takeOver({ id: frozen.id, beat: 0 })).toBe(true)
  expect(await frozen.take(held!)).toBeNull()
  expect(await claimOne(frozen, 'a')).toBeNull()
  expect(await claimOne(other, 'a')).toMatchObject({ id: held!.id })
})

it('a worker gets no more messages of a type than it wants, in groups and outside of them', async () => {
  const { queue } = await testQueue()
  const message = { transport: 'async', type: 'a', payload: null } as const
  await queue.dispatch([message, { ...message, group: 'g' }, { ...message, group: 'h' }])
  const member = await queue.join(worker)
  expect(await member.claim(new Map([['a', 2]]), Infinity)).toHaveLength(2)
  expect(await member.claim(new Map([['a', 1]]), Infinity)).toHaveLength(1)
})

it('a worker gives back a message whose deletion the database has lost', async () => {
  const { queue, records } = await testQueue()
  await queue.dispatch([{ transport: 'async', type: 'a', payload: null }])
  const member = await queue.join(worker)
  const message = (await claimOne(member, 'a'))!
  const row = await records.db.selectFrom('queue_messages').selectAll().executeTakeFirstOrThrow()
  await member.complete(message)
  await records.db.insertInto('queue_messages').values(row).execute()
  expect(await claimOne(member, 'a')).toBeNull()
  expect(await member.beat()).toBe(true)
  expect(await claimOne(member, 'a')).toMatchObject({ id: message.id })
})

it('a heartbeat leaves a worker the messages that it works on', async () => {
  const { queue } = await testQueue()
  const message = { transport: 'async', type: 'a', payload: null, group: 'g' } as const
  await queue.dispatch([message, message])
  const member = await queue.join(worker)
  const claimed = (await claimOne(member, 'a'))!
  const taken = (await member.take(claimed))!
  await member.beat()
  await member.complete(claimed)
  await member.complete(taken)
  expect((await queue.statistics()).transports[0]).toMatchObject({ count: 0 })
})
