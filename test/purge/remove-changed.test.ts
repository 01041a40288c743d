import { expect, it } from 'vitest'
import type { Removal } from '../../src/cluster/removal.ts'
import { Gate } from '../../src/lib/gate.ts'
import { removeChanged } from '../../src/purge/remove-changed.ts'
import { until } from '../helpers/until.ts'

const asked = { selection: { kind: 'urls', urls: ['http://shop.example/a'] } } as const

/** A removal on several machines, and what was done in which order. */
async function remove(confirm: () => Promise<void>, patience?: number) {
  const done: unknown[] = []
  const waits: unknown[] = []
  const cluster = {
    appendUnlogged: async (removals: readonly Removal[]) => {
      done.push(removals)
      return { number: 1, identity: '' }
    },
    confirm: async (_: unknown, within?: number) => {
      waits.push(within)
      await confirm()
      done.push('confirmed')
      return { live: [], isAlone: true, unconfirmed: [] }
    },
  }
  const here = { remove: async () => done.push('here') }
  const removed = await removeChanged({ cluster, numbering: new Gate(1) }, asked, here, patience).catch(
    (error: Error) => error.message,
  )
  return { done, removed, waits }
}

it('a page that a visitor has changed leaves this node first, and then all others before the answer', async () => {
  const removals = [{ kind: 'urls', urls: asked.selection.urls }]
  const turns = () => new Promise<void>((resolve) => setTimeout(resolve, 20))
  const { done, removed } = await remove(turns)
  expect(done).toEqual(['here', removals, 'confirmed'])
  expect(removed).toBe(1)
})

it('the answer to a visitor does not wait for ever for other nodes', async () => {
  const { done, removed, waits } = await remove(() => new Promise(() => {}), 1)
  expect(done[0]).toBe('here')
  // Nor does anything else.
  expect(waits).toEqual([1])
  expect(removed).toContain('Other nodes have not removed the pages')
})

it('one change at a time waits for the lock of the order of purges, with one connection', async () => {
  const lock = Promise.withResolvers<void>()
  let started = 0
  const cluster = {
    appendUnlogged: async () => {
      started += 1
      await lock.promise
      return { number: 1, identity: '' }
    },
    confirm: async () => ({ live: [], isAlone: true, unconfirmed: [] }),
  }
  const changing = { cluster, numbering: new Gate(1) }
  const changes = [1, 2, 3].map(() => removeChanged(changing, asked, { remove: async () => 1 }, 50))
  const answers = await Promise.allSettled(changes)
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(started).toBe(1)
  lock.resolve()
  await until(() => started === 3)
})
