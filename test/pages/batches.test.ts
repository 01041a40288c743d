import { describe, expect, it } from 'vitest'
import { Batches, batchPages, bodyOf, outcomeOf, type Waiting } from '../../src/pages/batches.ts'
import { draft } from './draft.ts'

const fence = { generation: 'g', sequence: 1 }
const megabyte = 2 ** 20

function add(batches: Batches, name: string, body = Buffer.from(name)): Waiting {
  const unused = { size: body.length, hits: 0, hitMs: 0, usedAt: 0 }
  return batches.add({ ...draft(name), ...unused }, body, fence, fence)
}

function end({ oldest }: Batches): void {
  for (const waiting of oldest!.pages) waiting.outcome = 'unavailable'
}

describe('a batch', () => {
  it('takes pages in their order, up to a number', () => {
    const batches = new Batches()
    const pages = Array.from({ length: batchPages + 1 }, (_, n) => add(batches, `p${n}`))
    expect(batches.oldest!.pages).toEqual(pages.slice(0, batchPages))
    expect([...batches]).toEqual(pages)
    expect(batches.size).toBe(batchPages + 1)
    expect(pages.map((waiting) => bodyOf(waiting).toString())).toEqual(pages.map((_, n) => `p${n}`))
  })

  it('takes a megabyte of bodies, or one that is larger', () => {
    const batches = new Batches()
    const half = Buffer.alloc(megabyte / 2, 'h')
    const large = Buffer.alloc(2 * megabyte, 'l')
    const pages = [half, half, half, large, half].map((body, n) => add(batches, `p${n}`, body))
    const groups = new Set(pages.map(({ batch }) => batch))
    expect([...groups].map((batch) => batch.pages.length)).toEqual([2, 1, 1, 1])
    expect(bodyOf(pages[3]!)).toEqual(large)
  })

  it('takes no page once the writer has it', () => {
    const batches = new Batches()
    const first = add(batches, 'a')
    first.batch.attempts += 1
    expect(add(batches, 'b').batch).not.toBe(first.batch)
  })

  it('tells those who wait for its pages what became of them', async () => {
    const batches = new Batches()
    const waiting = add(batches, 'a')
    const outcome = outcomeOf(waiting)
    end(batches)
    batches.shift()
    expect(await outcome).toBe('unavailable')
  })
})

it('finds a waiting page by its id and by its key, until it waits no longer', () => {
  const batches = new Batches()
  const first = add(batches, 'a')
  first.batch.attempts += 1
  const second = add(batches, 'a')
  const other = add(batches, 'b')
  expect([first, second, other].map(({ page }) => batches.get(page.id))).toEqual([first, second, other])
  expect([batches.get(7), batches.get(-99)]).toEqual([null, null])
  expect(batches.under(draft('a').key)).toEqual([second, first])
  end(batches)
  batches.shift()
  expect(batches.get(first.page.id)).toBeNull()
  expect(batches.under(draft('a').key)).toEqual([second])
  end(batches)
  batches.shift()
  expect(batches.under(draft('a').key)).toEqual([])
  expect([batches.size, batches.bytes, batches.oldest]).toEqual([0, 0, null])
})

it('forgets the pages of a key in the order in which they end, however many there are', () => {
  const batches = new Batches()
  const pages = Array.from({ length: 5 }, () => {
    const waiting = add(batches, 'a')
    waiting.batch.attempts += 1
    return waiting
  })
  for (const n of pages.keys()) {
    expect(batches.under(draft('a').key)).toEqual(pages.slice(n).reverse())
    end(batches)
    batches.shift()
  }
})

it('uses memory again without changing a body that was read from it', () => {
  const batches = new Batches()
  const first = add(batches, 'a', Buffer.alloc(1000, 'a'))
  const memory = first.batch.bodies.buffer
  const body = bodyOf(first)
  end(batches)
  batches.shift()
  const second = add(batches, 'b', Buffer.alloc(1000, 'b'))
  expect(second.batch.bodies.buffer).toBe(memory)
  expect(body).toEqual(Buffer.alloc(1000, 'a'))
  expect(bodyOf(second)).toEqual(Buffer.alloc(1000, 'b'))
})

it('does not keep the memory of a large page', () => {
  const batches = new Batches()
  const memory = add(batches, 'a', Buffer.alloc(2 * megabyte)).batch.bodies.buffer
  end(batches)
  batches.shift()
  expect(add(batches, 'b', Buffer.alloc(2 * megabyte)).batch.bodies.buffer).not.toBe(memory)
  expect(add(batches, 'c').batch.bodies.buffer.byteLength).toBe(megabyte)
})
