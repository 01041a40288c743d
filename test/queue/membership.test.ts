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
