import { expect, it } from 'vitest'
import { Output } from '../../src/cli/output.ts'
import { presentLog, readLog } from '../../src/cli/search-log.ts'
import { recentPurges } from '../../src/operations/purge-log.ts'

/** A log of entries that are numbered from 0, of which a request looks at four. */
function openLog(size: number) {
  const asked: object[] = []
  const told: string[] = []
  const perform = async (_: unknown, input: { search?: string; before?: number; limit: number; offset: number }) => {
    asked.push(input)
    const from = input.before ?? size
    const ids = Array.from({ length: size }, (__, id) => size - 1 - id).filter((id) => id < from && id >= from - 4)
    if (input.limit < 1 || input.limit > 1000 || input.offset < 0) throw new Error('INVALID_INPUT')
    const found = ids.filter((id) => id % 2 === 0).slice(0, input.offset + input.limit)
    const items = found.slice(input.offset)
    const next = from - 4 > 0 ? from - 4 : null
    const searchedTo = next === null ? null : `time ${next}`
    return { success: true, total: found.length, limit: input.limit, offset: input.offset, items, next, searchedTo }
  }
  const abort = new AbortController()
  const session = { performer: { perform }, signal: abort.signal, tell: (message: string) => void told.push(message) }
  const read = (search: string | undefined, limit: number, offset = 0) =>
    readLog(session as never, recentPurges, { search, limit, offset }) as Promise<{ items: unknown; total: number }>
  return { read, asked, told, abort }
}

it('a search goes on until it has found enough or the log ends, and says how far it is', async () => {
  const { read, asked, told } = openLog(20)
  expect(await read('word', 5)).toMatchObject({ items: [18, 16, 14, 12, 10], limit: 5, offset: 0 })
  expect(asked).toEqual([
    { search: 'word', limit: 5, offset: 0 },
    { search: 'word', before: 16, limit: 3, offset: 0 },
    { search: 'word', before: 12, limit: 1, offset: 0 },
  ])
  expect(told).toEqual(['Searched back to time 16; found 2.', 'Searched back to time 12; found 4.'])
  expect(await read('word', 50)).toMatchObject({ total: 10, next: null })
  expect(await read('word', 2, 3)).toMatchObject({ items: [12, 10], offset: 3 })
})

it('a search skips entries across its requests, and keeps to the limits of one', async () => {
  const { read, asked } = openLog(8000)
  const { items, total } = await read('word', 1000, 600)
  expect([(items as number[])[0], (items as number[]).length, total]).toEqual([6798, 1000, 1600])
  expect(asked.slice(0, 2)).toEqual([
    { search: 'word', limit: 1000, offset: 600 },
    { search: 'word', before: 7996, limit: 1000, offset: 598 },
  ])
  await expect(read('word', 50, -5)).rejects.toThrow('INVALID_INPUT')
})

it('an interrupted search does not pass for a complete one, and a list without a search is one request', async () => {
  const { read, asked, abort } = openLog(20)
  abort.abort()
  await expect(read('word', 5)).rejects.toMatchObject({ code: 'INTERRUPTED' })
  for (const blank of [undefined, '', '  ']) await read(blank, 5, 2)
  expect(asked.slice(1)).toEqual([1, 2, 3].map(() => ({ limit: 5, offset: 2 })))
})

it('a search says on a terminal that nothing matches, or that there may be more', async () => {
  const present = async (part: object, isTTY = true) => {
    let text = ''
    const output = new Output({ isTTY, columns: 60, write: (chunk) => (text += chunk) })
    const columns = [{ name: 'id', value: (id: number) => id }]
    await presentLog({ columns, items: [], noun: 'purge', empty: 'The log is empty.', ...part }, output, {})
    return text
  }
  expect(await present({})).toBe('The log is empty.\n')
  expect(await present({ next: null })).toBe('No purge matches.\n')
  const more = { items: [7], total: 1, next: 6, searchedTo: '2026-11-01T08:15:00.000Z' }
  expect(await present(more)).toMatch(/Searched back to 2026-11-01T08:15:00\.000Z; older entries may\s+match too\./)
  expect(await present(more, false)).toBe('id\n7\n')
})
