import { expect, it } from 'vitest'
import { readList } from '../../src/lib/read-list.ts'

const names = (count: number) => Array.from({ length: count }, (_, index) => `item ${index}`)

/** Reads a list that `change` changes before each part after the first. `most`: the longest part that is returned. */
async function readChanging(list: string[], change: (nth: number) => void, most = 1000) {
  let reads = 0
  const items = await readList(
    async ({ limit, offset }) => {
      if (reads++ > 0) change(reads)
      return { total: list.length, items: list.slice(offset, offset + Math.min(limit, most)) }
    },
    (item) => item,
  )
  return { items, reads }
}

it.each([0, 1, 999, 1000, 1001, 1999, 2000, 3500])('reads a list of %i items', async (count) => {
  const { items, reads } = await readChanging(names(count), () => {})
  expect(items).toEqual(names(count))
  expect(reads).toBe(Math.max(1, Math.ceil((count - 1) / 999)))
})

it('reads a list in smaller parts than it asks for', async () => {
  expect((await readChanging(names(95), () => {}, 20)).items).toEqual(names(95))
})

it('ends when the list is shorter than its last length', async () => {
  const read = async ({ offset }: { offset: number }) => ({
    total: 1002,
    items: names(1001).slice(offset, offset + 1000),
  })
  expect(await readList(read, (item) => item)).toEqual(names(1001))
})

it('misses no item when others are deleted meanwhile', async () => {
  const list = names(4500)
  const deleted: string[] = []
  const { items } = await readChanging(list, (nth) => nth < 6 && deleted.push(...list.splice(3 + nth, nth * 9)))
  expect(items).toEqual(expect.arrayContaining(list))
  expect(items.filter((item) => !list.includes(item) && !deleted.includes(item))).toEqual([])
})

it('misses no item when most of the list is deleted meanwhile', async () => {
  const list = names(3000)
  const { items } = await readChanging(list, (nth) => void (nth === 3 && list.splice(0, 2900)))
  expect(items).toEqual(expect.arrayContaining(names(3000).slice(2900)))
})

it('returns each item once when others are added before it', async () => {
  const list = names(2500)
  const { items } = await readChanging(list, (nth) => list.unshift(`new ${nth}`))
  expect(items).toEqual(names(2500))
})
