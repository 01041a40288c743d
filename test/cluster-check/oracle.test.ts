import { expect, it } from 'vitest'
import { Oracle } from './oracle.ts'
import { pages, type Selection } from './pages.ts'
import { growths, type Sample } from './resources.ts'
import { Troubles } from './troubles.ts'

const page = pages[0]!
const { path } = page
const selection: Selection = { scope: 'url', value: path, pages: [page] }
const hit = 'pagecache; hit; ttl=60'
const alone = 'pagecache; hit; ttl=60; detail="unconfirmed"'

function openOracle() {
  let now = 0
  const oracle = new Oracle(() => (now += 1), ['three'])
  /** Changes the page and purges it. */
  const purge = (unconfirmed: readonly string[] = []) => {
    const sent = oracle.change(selection, 'one')
    oracle.answered(sent, unconfirmed)
    return sent
  }
  const see = (node: string, version: number | null, how: string) =>
    oracle.judge({ path, node, version, how }, oracle.expect(path))
  return { oracle, purge, see }
}

it('a version from before an answered purge is a fault, with the history of the page', () => {
  const { oracle, purge, see } = openOracle()
  purge()
  see('two', 2, hit)
  expect(oracle.faults).toEqual([])
  see('two', 1, hit)
  expect(oracle.faults).toEqual([expect.stringContaining(`${path} stale: two answers version 1 after purge 1`)])
  expect(oracle.faults[0]).toContain('purge 1 (url /p/0) is sent to one')
})

it('a purge counts from its answer, and for requests after it', () => {
  const { oracle, see } = openOracle()
  const sent = oracle.change(selection, 'one')
  see('two', 1, hit)
  const before = oracle.expect(path)
  oracle.answered(sent, [])
  oracle.judge({ path, node: 'two', version: 1, how: hit }, before)
  expect(oracle.faults).toEqual([])
  see('two', 1, hit)
  expect(oracle.faults).toHaveLength(1)
})

it('a node that a purge names may serve older pages, if it says so', () => {
  const { oracle, purge, see } = openOracle()
  purge(['two'])
  see('two', 1, alone)
  expect(oracle.faults).toEqual([])
  expect(oracle.counts.olderReads).toBe(1)
  see('two', 1, hit)
  see('one', 1, alone)
  expect(oracle.faults).toHaveLength(2)
})

it('a purge that names a node does not hide an earlier one that does not', () => {
  const { oracle, purge, see } = openOracle()
  purge()
  purge(['two'])
  see('two', 2, alone)
  expect(oracle.faults).toEqual([])
  see('two', 1, alone)
  expect(oracle.faults).toHaveLength(1)
})

it('a node in strict mode never serves without a lease, and is never named', () => {
  const { oracle, purge, see } = openOracle()
  see('three', 1, alone)
  purge(['three'])
  expect(oracle.faults).toHaveLength(2)
})

it('a page that is not one of the shop is a fault', () => {
  const { oracle, see } = openOracle()
  see('one', null, hit)
  see('one', 2, hit)
  expect(oracle.faults).toHaveLength(2)
})

it('trouble counts while it lasts', () => {
  let now = 0
  const troubles = new Troubles(() => now)
  now = 10
  const end = troubles.begin('one')
  expect(troubles.between('one', 11, 20)).toBe(true)
  now = 20
  end()
  expect([troubles.between('one', 0, 9), troubles.between('one', 21, 30), troubles.between('two', 0, 30)]).toEqual([
    false,
    false,
    false,
  ])
  troubles.saw('two', 15)
  expect(troubles.between('two', 16, 17)).toBe(true)
})

it('finds the latest purge that was answered before a time, not one that was only sent before it', () => {
  let now = 0
  const oracle = new Oracle(() => now, [])
  const send = (at: number) => {
    now = at
    return oracle.change(selection, 'one')
  }
  const [first, slow, lost, second] = [10, 20, 30, 40].map(send)
  for (const [at, purge] of [
    [50, first!],
    [60, second!],
    [90, slow!],
  ] as const) {
    now = at
    oracle.answered(purge, [])
  }
  oracle.failed(lost!, 'no answer')
  expect([50, 60, 90, 100].map((before) => oracle.lastAnswered(before))).toEqual([0, 10, 40, 40])
})

it('a node whose memory or handles grow in the second half is not flat', () => {
  const used = (node: string, memory: (at: number) => number, handles: (at: number) => number) =>
    Array.from({ length: 100 }, (_, second): Sample => {
      return { node, pid: node.length, at: second * 1000, memory: memory(second), handles: handles(second) }
    })
  const flat = (second: number) => 200 + (second % 7)
  const all = [
    ...used('a', flat, flat),
    ...used('bb', (second) => 200 + 5 * second, flat),
    ...used('ccc', flat, (second) => 20 + 2 * second),
  ]
  expect(growths(all, 100_000).map(({ node, isFlat }) => [node, isFlat])).toEqual([
    ['a', true],
    ['bb', false],
    ['ccc', false],
  ])
})
