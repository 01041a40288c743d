import { expect, it, onTestFinished } from 'vitest'
import { openPages } from '../../src/pages/clear.ts'
import { placesIn } from '../../src/pages/places.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const sums = { count: 2, originalSize: 30, size: 20, generationUs: 5, hits: 7, hitUs: 9 }

async function openIndex() {
  const index = openPages(placesIn(await tempDir()), () => {})
  onTestFinished(() => index.close())
  return index
}

it('adds the sums of a transaction at its end, for each type', async () => {
  const index = await openIndex()
  const added = index.write(() =>
    index.counters.together(() => {
      index.counters.add('products', sums)
      index.counters.add('products', sums)
      index.counters.subtract('products', { ...sums, hits: 0 })
      index.counters.add('categories', sums)
      expect(index.counters.all().products.count).toBe(0)
      return 'added'
    }),
  )
  expect(added).toBe('added')
  expect(index.counters.all()).toMatchObject({
    products: { count: 2, originalSize: 30, size: 20, hits: 14 },
    categories: { count: 2, originalSize: 30, size: 20, hits: 7 },
  })
})

it('discards the sums of work that fails, and then adds each change immediately again', async () => {
  const index = await openIndex()
  const failing = () =>
    index.counters.together(() => {
      index.counters.add('products', sums)
      throw new Error('failed')
    })
  expect(() => index.write(failing)).toThrow('failed')
  index.write(() => index.counters.add('categories', sums))
  expect(index.counters.totals()).toEqual({ count: 2, size: 20 })
})
