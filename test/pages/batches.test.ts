import { describe, expect, it, vi } from 'vitest'
import { Batches, batchPages, bodyOf, outcomeOf, type Waiting } from '../../src/pages/batches.ts'
import { toText } from '../../src/pages/prepared-page.ts'
import { draft } from './draft.ts'

const fence = { generation: 'g', sequence: 1 }
const megabyte = 2 ** 20

function add(batches: Batches, name: string, body = Buffer.from(name)): Waiting {
  const unused = { size: body.length, hits: 0, hitMs: 0, usedAt: 0 }
  return batches.add({ ...draft(name), ...unused }, body, fence, fence)
}

/** Ends the oldest batch. */
function end(batches: Batches): void {
  batches.shift(batches.oldest!.pages.map(() => 'unavailable'))
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

  it('takes a megabyte of bodies and texts, or a large page, which is not copied', () => {
    const batches = new Batches()
    const text = Buffer.byteLength(toText(draft('p0'), fence))
    const half = Buffer.alloc(megabyte / 2 - text, 'h')
    const large = Buffer.alloc(megabyte / 2 - text + 1, 'l')
    const pages = [half, half, half, large, Buffer.alloc(0), half].map((body, n) => add(batches, `p${n}`, body))
    const groups = new Set(pages.map(({ batch }) => batch))
    expect([...groups].map((batch) => batch.pages.length)).toEqual([2, 1, 1, 2])
    expect(bodyOf(pages[3]!).buffer).toBe(large.buffer)
    expect(pages.map((waiting) => bodyOf(waiting).length)).toEqual(
      [half, half, half, large, [], half].map((b) => b.length),
    )
  })

  it('takes no page once the writer has it', () => {
    const batches = new Batches()
    const first = add(batches, 'a')
    first.batch.attempts += 1
    expect(add(batches, 'b').batch).not.toBe(first.batch)
  })

  it('tells those who wait for its pages what became of them', async () => {
    const batches = new Batches()
    const pages = [add(batches, 'a'), add(batches, 'b')]
    const outcomes = Promise.all(pages.map(outcomeOf))
    batches.shift([pages[0]!.page, 'invalidated'])
    expect(await outcomes).toEqual([pages[0]!.page, 'invalidated'])
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
  expect(batches.get(first.page.id)).toBeNull()
  expect(batches.under(draft('a').key)).toEqual([second])
  end(batches)
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
  }
})

it('uses memory again without changing a body that was read from it', () => {
  const batches = new Batches()
  const first = add(batches, 'a', Buffer.alloc(1000, 'a'))
  const memory = first.batch.memory.buffer
  const body = bodyOf(first)
  end(batches)
  const second = add(batches, 'b', Buffer.alloc(1000, 'b'))
  expect(second.batch.memory.buffer).toBe(memory)
  expect(body).toEqual(Buffer.alloc(1000, 'a'))
  expect(bodyOf(second)).toEqual(Buffer.alloc(1000, 'b'))
})

it('never gives small pages the memory of a large one', () => {
  const batches = new Batches()
  const large = Buffer.alloc(megabyte, 'l')
  add(batches, 'a', large)
  end(batches)
  add(batches, 'b', Buffer.from('small'))
  expect(large).toEqual(Buffer.alloc(megabyte, 'l'))
})

it('stays consistent when there is no memory for a page', () => {
  const batches = new Batches()
  const first = add(batches, 'a')
  for (let n = 1; n < batchPages; n++) add(batches, `p${n}`)
  vi.stubGlobal(
    'SharedArrayBuffer',
    class {
      constructor() {
        throw new RangeError('Array buffer allocation failed')
      }
    },
  )
  expect(() => add(batches, 'b')).toThrow(RangeError)
  vi.unstubAllGlobals()
  const next = add(batches, 'c')
  expect([first, next].map(({ page }) => batches.get(page.id))).toEqual([first, next])
  expect(batches.size).toBe(batchPages + 1)
})
