import { expect, it } from 'vitest'
import { Parts } from '../../src/lib/parts.ts'

it('closes parts in reverse order, and those too that are opened meanwhile', async () => {
  const parts = new Parts()
  const closed: string[] = []
  const open = (name: string, ready = Promise.resolve()) =>
    parts.open(name, async () => {
      await ready
      return { close: () => void closed.push(name) }
    })
  await open('first')
  await open('second')
  const late = Promise.withResolvers<void>()
  parts.onClose(() => {
    // As a timer would that has not been stopped yet.
    void open('late', late.promise)
    setImmediate(() => setImmediate(late.resolve))
  })
  await parts.close()
  expect(closed).toEqual(['late', 'second', 'first'])
})

it('runs all closers, and throws the first error', async () => {
  const parts = new Parts()
  const closed: string[] = []
  for (const name of ['a', 'b', 'c'])
    parts.onClose(() => {
      closed.push(name)
      if (name !== 'b') throw new Error(name)
    })
  await expect(parts.close()).rejects.toThrow('c')
  expect(closed).toEqual(['c', 'b', 'a'])
})
