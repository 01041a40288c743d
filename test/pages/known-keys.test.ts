import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openPages as openIndex } from '../../src/pages/clear.ts'
import { KnownKeys } from '../../src/pages/known-keys.ts'
import { PageReads, type IndexedKey } from '../../src/pages/page-reads.ts'
import { hashKey } from '../../src/pages/page-row.ts'
import { placesIn } from '../../src/pages/places.ts'
import { insertPage } from '../helpers/insert-page.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'
import { bodyOf, draft, openPages, store } from '../stores/pages.ts'
import { startOther } from './fork.ts'

/** A fake index with keys of these hashes. `broken`: the calls that fail. */
function source(hashes: number[], broken = 0) {
  const calls: number[] = []
  const keysAfter = ({ hash: after }: IndexedKey, most: number): IndexedKey[] => {
    calls.push(after)
    if (calls.length <= broken) throw Object.assign(new Error('The index is locked'), { code: 'SQLITE_BUSY' })
    return [...new Set(hashes)]
      .filter((hash) => hash > after)
      .sort((one, other) => one - other)
      .slice(0, most)
      .map((hash) => ({ url: '', hash }))
  }
  return { hashes, calls, keysAfter, count: () => 0, forget: () => {} }
}

function filled(...args: ConstructorParameters<typeof KnownKeys>) {
  const known = new KnownKeys(...args)
  onTestFinished(() => known.stop())
  return known
}

function fakeTimers() {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n)

describe('known keys', () => {
  it('every key may be there until all have been read in slices', async () => {
    const known = filled()
    const index = source(numbers(0, 5_000))
    known.restart(index)
    const absent: boolean[] = []
    await until(() => {
      for (const hash of [0, 2_500, 4_999]) expect(known.mayHold(hash)).toBe(true)
      absent.push(!known.mayHold(7_000))
      return known.isComplete
    })
    expect(absent[0]).toBe(false)
    expect(index.calls).toEqual([-1, 1_023, 2_047, 3_071, 4_095])
    expect(numbers(0, 5_000).every((hash) => known.mayHold(hash))).toBe(true)
    expect(numbers(5_000, 10_000).filter((hash) => known.mayHold(hash)).length).toBeLessThan(5)
  })

  it('a key that is added while they are read is there afterwards, wherever the reading is', async () => {
    const known = filled()
    const index = source(numbers(0, 5_000).map((n) => n * 2))
    known.restart(index)
    const added: number[] = []
    await until(() => {
      for (const hash of [1, 5_001, 9_999]) {
        const next = hash + added.length * 2
        added.push(next)
        known.add(next)
        expect(known.mayHold(next)).toBe(true)
      }
      return known.isComplete
    }, 1)
    expect(added.every((hash) => known.mayHold(hash))).toBe(true)
  })

  it('begins anew for another index, and when keys may be missing', async () => {
    const known = filled(0)
    known.restart(source([1]))
    await until(() => known.isComplete)
    known.restart(source([2]))
    expect(known.mayHold(3)).toBe(true)
    await until(() => known.isComplete)
    expect([1, 2, 3].map((hash) => known.mayHold(hash))).toEqual([false, true, false])
    const index = source([4])
    known.restart(index)
    await until(() => known.isComplete)
    index.hashes.push(5)
    known.forget()
    expect(known.mayHold(5)).toBe(true)
    await until(() => known.isComplete)
    expect([3, 4, 5].map((hash) => known.mayHold(hash))).toEqual([false, true, true])
  })

  it('does not read all keys more often than every ten seconds, however often they may be missing', () => {
    fakeTimers()
    const known = filled()
    const index = source([1])
    known.restart(index)
    for (let n = 0; n < 90; n++) {
      vi.advanceTimersByTime(100)
      known.forget()
    }
    expect(known.isComplete).toBe(false)
    expect(index.calls).toHaveLength(1)
    vi.advanceTimersByTime(2_000)
    expect(known.isComplete).toBe(true)
    expect(index.calls).toHaveLength(2)
  })

  it('asks the index until the keys can be read', async () => {
    const known = filled(0)
    const index = source([1], 2)
    known.restart(index)
    await until(() => known.isComplete)
    expect(index.calls).toHaveLength(3)
    expect([1, 2].map((hash) => known.mayHold(hash))).toEqual([true, false])
  })

  it('forgets the keys of removed pages when there are more than two per page', () => {
    fakeTimers()
    const known = filled()
    const index = source([])
    known.restart(index)
    let live = 0
    const add = (from: number, to: number) => {
      for (let n = from; n < to; n++) {
        known.add(n)
        if (n % 100 === 0) vi.advanceTimersByTime(10)
      }
    }
    vi.advanceTimersByTime(10)
    index.count = () => (live = known.size)
    add(0, 150_000)
    expect(live).toBeGreaterThan(100_000)
    expect(known.size).toBeGreaterThan(149_000)
    expect(index.calls).toHaveLength(1)
    index.count = () => 50_000
    add(150_000, 250_000)
    vi.advanceTimersByTime(20_000)
    expect(index.calls).toHaveLength(2)
    expect(known.size).toBeLessThan(100_000)
    expect(known.mayHold(249_999)).toBe(true)
  })

  it('reads nothing once it has stopped', () => {
    fakeTimers()
    const known = new KnownKeys()
    const index = source(numbers(0, 5_000))
    known.restart(index)
    vi.advanceTimersByTime(12)
    known.stop()
    const { length } = index.calls
    known.add(1)
    vi.advanceTimersByTime(60_000)
    expect(length).toBeGreaterThan(0)
    expect(index.calls).toHaveLength(length)
    expect(known.mayHold(1)).toBe(true)
  })
})

describe('a store that knows its keys', () => {
  it('finds every page of a large index while its keys are read, and afterwards', async () => {
    const directory = await tempDir()
    const index = openIndex(placesIn(directory), () => {})
    const body = { file: 'aa/b', fileSize: 1, at: 0, size: 1, digest: Buffer.alloc(32) }
    index.write(() => {
      for (let n = 0; n < 20_000; n++) insertPage(index, draft(`p${n}`), body)
    })
    index.close()
    const known = new KnownKeys()
    const { pages } = await openPages({ directory, known })
    let rounds = 0
    await until(() => {
      for (let n = rounds++ % 7; n < 20_000; n += 997) expect(pages.find(draft(`p${n}`).key)).toHaveLength(1)
      expect(pages.find(draft('none').key)).toEqual([])
      return known.isComplete
    }, 1)
    expect(rounds).toBeGreaterThan(3)
    for (let n = 0; n < 20_000; n += 13) expect(pages.find(draft(`p${n}`).key)).toHaveLength(1)
    expect(known.mayHold(hashKey(draft('none').key))).toBe(false)
    expect(pages.find(draft('none').key)).toEqual([])
  })

  it('finds pages after another process has stored more than can be listed', async () => {
    const known = new KnownKeys(0)
    const { pages, directory } = await openPages({ known })
    await until(() => known.isComplete)
    const index = openIndex(placesIn(directory), () => {})
    onTestFinished(() => index.close())
    const body = { file: 'aa/b', fileSize: 1, at: 0, size: 1, digest: Buffer.alloc(32) }
    index.write(() => {
      for (let n = 0; n < 3_000; n++) insertPage(index, draft(`p${n}`), body)
    })
    for (const n of [0, 1_999, 2_000, 2_999]) expect(pages.find(draft(`p${n}`).key)).toHaveLength(1)
    await until(() => known.isComplete)
    for (let n = 0; n < 3_000; n += 7) expect(pages.find(draft(`p${n}`).key)).toHaveLength(1)
    expect(pages.find(draft('none').key)).toEqual([])
  })

  it('finds the pages that its writer thread stores, and those of other processes, at once', async () => {
    const known = new KnownKeys(0)
    const { pages, directory } = await openPages({ known, writer: true })
    const other = await startOther(directory)
    await until(() => known.isComplete)
    for (let n = 0; n < 30; n++) {
      expect(pages.find(draft(`own${n}`).key)).toEqual([])
      await pages.take(draft(`own${n}`), bodyOf('own'), pages.fence())
      expect(pages.find(draft(`own${n}`).key)).toHaveLength(1)
      expect(pages.find(draft(`other${n}`).key)).toEqual([])
      await other.ask({ ask: 'put', name: `other${n}` })
      expect(pages.find(draft(`other${n}`).key)).toHaveLength(1)
      if (n % 10 === 5) await pages.settled({ kind: 'all' })
      for (let m = 0; m < n; m++) expect(pages.find(draft(`own${m}`).key)).toHaveLength(1)
    }
    expect(known.isComplete).toBe(true)
  })

  it('is the one of a process with a writer only: others read no keys', async () => {
    const spy = vi.spyOn(PageReads.prototype, 'keysAfter')
    onTestFinished(() => spy.mockRestore())
    const { pages, directory } = await openPages()
    await store(pages, 'a')
    await openPages({ directory, writer: true })
    await until(() => expect(spy).toHaveBeenCalled())
    expect(spy).toHaveBeenCalledOnce()
  })
})
