import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { lockNext } from '../../../src/queue/find-next.ts'
import { leaseMessages } from '../../../src/queue/lease.ts'
import type { Membership, Message } from '../../../src/queue/queue.ts'
import { lockingTransaction } from '../../../src/records/locks.ts'
import { claimOne } from '../../queue/consuming.ts'
import { testQueue } from '../../queue/open-queue.ts'

const worker = { kind: 'consumer', transports: ['async'], types: ['a'] } as const
const message = { transport: 'async', type: 'a', payload: null } as const

it('a worker takes a message only after the transactions that have merged one into it', async () => {
  const { records, queue } = await testQueue()
  await queue.dispatch([{ ...message, key: 'k', group: 'g' }])
  const member = await queue.join(worker)
  await records.db.transaction().execute(async (transaction) => {
    expect(await queue.dispatch([{ ...message, key: 'k' }], transaction)).toBe(0)
    expect(await claimOne(member, 'a')).toBeNull()
  })
  const held = await claimOne(member, 'a')
  expect(held).toMatchObject({ key: 'k' })

  await queue.dispatch([{ ...message, key: 'k', group: 'g' }])
  await records.db.transaction().execute(async (transaction) => {
    await queue.dispatch([{ ...message, key: 'k' }], transaction)
    expect(await member.take(held!)).toBeNull()
  })
  expect(await member.take(held!)).toMatchObject({ key: 'k' })
})

it('a worker takes nothing of a group from which another one is just taking a message, even an older one', async () => {
  const { records, queue, now, jump, again } = await testQueue()
  const [one, other] = [await queue.join(worker), await (await again()).join(worker)]
  await queue.dispatch([{ ...message, group: 'g' }])
  await lockingTransaction(records.db).execute(async (transaction) => {
    const wish = { transport: 'async', wanted: new Map([['a', 1]]), now: now(), most: 1 } as const
    const ids = await lockNext(transaction, wish)
    jump(-1000)
    await queue.dispatch([{ ...message, group: 'g' }, message])
    jump(1000)
    expect(await claimOne(other, 'a')).toMatchObject({ group: null })
    expect(await claimOne(other, 'a')).toBeNull()
    expect(await leaseMessages(transaction, ids, { lease: 'lease', worker: one.id, now: now() })).toHaveLength(1)
  })
  expect(await claimOne(other, 'a')).toBeNull()
  expect(await records.db.selectFrom('queue_messages').select('worker').where('group', '=', 'g').execute()).toEqual(
    expect.arrayContaining([{ worker: one.id }, { worker: null }]),
  )
})

it('workers that take, finish and give back messages at once never share a message or a group', async () => {
  const { queue, again } = await testQueue()
  const total = 90
  await queue.dispatch(
    Array.from({ length: total }, (_, payload) => ({
      ...message,
      payload,
      ...(payload % 4 === 0 ? {} : { group: `g${payload % 6}` }),
    })),
  )
  const handled: number[] = []
  const holders = new Map<string, string>()
  const work = async (member: Membership, random: () => number) => {
    const nameOf = ({ group, id }: Message) => group ?? id
    const finish = async (own: Message, isLast: boolean) => {
      const taken = random() < 0.3 ? await member.take(own) : null
      if (taken !== null) await finish(taken, false)
      // From here on another worker may have the group.
      if (isLast) holders.delete(nameOf(own))
      if (random() < 0.2) return member.release(own, 0)
      handled.push(own.payload as number)
      await member.complete(own)
    }
    while (handled.length < total) {
      const claimed = await member.claim(new Map([['a', 3]]), 3)
      for (const own of claimed) {
        expect(holders.get(nameOf(own))).toBeUndefined()
        holders.set(nameOf(own), member.id)
      }
      for (const own of claimed) await finish(own, true)
    }
  }
  await Promise.all(
    [1, 2, 3].map(async (seed) => {
      let state = seed
      const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
      await work(await (await again()).join(worker), random)
    }),
  )
  expect(handled.toSorted((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, payload) => payload))
  expect((await queue.statistics()).transports[0]).toMatchObject({ count: 0 })
})

it('a worker is taken over only once the transaction in which it writes a result has ended', async () => {
  const { records, queue, again } = await testQueue()
  await queue.dispatch([message])
  const [one, other] = [await queue.join(worker), await (await again()).join(worker)]
  const held = await claimOne(one, 'a')
  const order: string[] = []
  let takingOver: Promise<unknown> | null = null
  await records.db.transaction().execute(async (transaction) => {
    await one.hold(transaction, held!)
    takingOver = other.takeOver({ id: one.id, beat: 0 }).then(() => order.push('taken over'))
    await sleep(300)
    order.push('result')
  })
  await takingOver
  expect(order).toEqual(['result', 'taken over'])
  const late = records.db.transaction().execute((transaction) => one.hold(transaction, held!))
  await expect(late).rejects.toMatchObject({ code: 'LEASE_LOST' })
})

it('a message that was delayed or has failed between its choice and its lock is not leased', async () => {
  const { records, queue, now } = await testQueue()
  const { id } = await queue.join(worker)
  await queue.dispatch([message, { ...message, group: 'g' }, { ...message, group: 'h' }])
  await lockingTransaction(records.db).execute(async (transaction) => {
    const wish = { transport: 'async', wanted: new Map([['a', 3]]), now: now(), most: 3 } as const
    const ids = await lockNext(transaction, wish)
    const change = (position: number) => transaction.updateTable('queue_messages').where('id', '=', ids[position]!)
    await change(0)
      .set({ available_at: now() + 1 })
      .execute()
    await change(1).set({ transport: 'failed', origin: 'async', failed_at: now() }).execute()
    const lease = { lease: 'lease', worker: id, now: now() } as const
    expect(await leaseMessages(transaction, ids, lease)).toMatchObject([{ id: ids[2] }])
  })
})
