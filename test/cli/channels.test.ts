import { expect, it } from 'vitest'
import { toChannelNames, type Channel } from '../../src/cli/channels.ts'
import { PagecacheError } from '../../src/errors.ts'

async function namesFrom(reading: Promise<readonly Channel[]>) {
  const told: string[] = []
  return { names: await toChannelNames(reading, (message) => told.push(message)), told }
}

it('has the names of sales channels by their ids', async () => {
  const channel = { id: 'a', name: 'Harbour', url: 'http://shop.example' }
  expect(await namesFrom(Promise.resolve([channel]))).toEqual({ names: new Map([['a', 'Harbour']]), told: [] })
})

it('has no names, and says why, if they cannot be read', async () => {
  const { names, told } = await namesFrom(Promise.reject(new PagecacheError('NOT_FOUND', 'There is no such path.')))
  expect(names).toEqual(new Map())
  expect(told).toEqual([expect.stringContaining('names of the sales channels: There is no such path.')])
})

it('fails when it is interrupted, and for a bug', async () => {
  for (const error of [new PagecacheError('INTERRUPTED', 'Interrupted.'), new TypeError('our bug')])
    await expect(namesFrom(Promise.reject(error))).rejects.toBe(error)
})
