import stringWidth from 'string-width'
import { expect, it } from 'vitest'
import { presentList, type Column, type ViewFlags } from '../../src/cli/list.ts'
import { Output } from '../../src/cli/output.ts'

interface Page {
  id: string
  url: string
  hits: number
  at: string | null
}

const columns: readonly Column<Page>[] = [
  { name: 'id', value: (page) => page.id, kind: 'id' },
  { name: 'hits', value: (page) => page.hits },
  { name: 'at', value: (page) => page.at, kind: 'time', minor: true },
  { name: 'url', value: (page) => page.url, kind: 'url' },
]

const pages: Page[] = [
  { id: '0190c0de-1000-7000-8000-00000000000a', url: 'http://a/', hits: 2, at: '2020-01-01T00:00:00.000Z' },
  { id: '0190c0de-2000-7000-8000-00000000000b', url: `http://a/${'long/'.repeat(40)}end`, hits: 10, at: null },
]

async function show(flags: ViewFlags | null, terminal: { columns: number } | null, items = pages) {
  let text = ''
  const stream = {
    isTTY: terminal !== null,
    columns: terminal?.columns ?? 0,
    write: (chunk: string) => (text += chunk),
  }
  await presentList({ columns, items, noun: 'page', empty: 'No page.' }, new Output(stream), flags)
  return text
}

const widths = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.length)

it.each([60, 80, 120, 200])('fits %i columns, with the beginning and the end of a long URL', async (columns) => {
  const text = await show({}, { columns })
  expect(Math.max(...widths(text.split('Not shown')[0]!))).toBeLessThanOrEqual(columns)
  expect(text).toMatch(/http:\/\/a\/long.*….*end/)
})

it('decodes the letters of a URL on a terminal alone, and nothing that controls it', async () => {
  const items = [{ ...pages[0]!, url: 'http://a/%E9%9D%B4/%F0%9F%91%9F?q=%2F%1b%E2%80%AE' }]
  const text = await show({}, { columns: 80 }, items)
  expect(text).toContain('│ http://a/靴/👟?q=%2F%1b%E2%80%AE ')
  expect(
    new Set(
      text
        .trimEnd()
        .split('\n')
        .map((line) => stringWidth(line)),
    ).size,
  ).toBe(1)
  expect(await show({}, null, items)).toContain(`\t${items[0]!.url}\n`)
  expect(await show({ csv: true }, { columns: 80 }, items)).toContain(`,${items[0]!.url}\n`)
})

it('leaves out minor columns that do not fit, and says which', async () => {
  expect(await show({}, { columns: 70 })).not.toContain('Not shown')
  expect(await show({}, { columns: 60 })).toContain('Not shown: at. Choose with --columns')
})

it('leaves out an empty minor column first and without a word, and offers no flag that the command lacks', async () => {
  const unused = pages.map((page) => ({ ...page, at: null }))
  expect(await show({}, { columns: 53 }, unused)).toContain('│ at │')
  expect(await show({}, { columns: 52 }, unused)).not.toMatch(/│ at │|Not shown/)
  expect(await show(null, { columns: 60 })).toContain('Not shown: at. Use a wider terminal.')
})

it('leaves out other columns too where the minor ones are not enough, and never those that were chosen', async () => {
  const runs = ['status', 'progress', 'failed', 'started'].map((name) => ({ name, value: () => `${name} 123456` }))
  let text = ''
  const stream = { isTTY: true, columns: 60, write: (chunk: string) => (text += chunk) }
  await presentList({ columns: runs, items: [null], noun: 'run', empty: '' }, new Output(stream), {})
  expect(text).toContain('│ status        │ progress        │ failed        │')
  expect(text.replaceAll('\n', ' ')).toContain('Not shown: started. Choose with --columns, or use a wider terminal.')
  const chosen = await show({ columns: 'url,at,hits,id' }, { columns: 40 })
  expect(chosen).toContain(`url: ${pages[1]!.url}\n`)
  expect(chosen).toMatch(/^at: \d+ d ago$/m)
})

it('shortens ids to unique beginnings and shows times relative to now', async () => {
  const text = await show({}, { columns: 200 })
  expect(text).toMatch(/│ 0190c0de-1 │/)
  expect(await show({}, { columns: 200 }, pages.slice(0, 1))).toMatch(/│ 0190c0de │/)
  expect(text).toMatch(/\d+ d ago/)
  expect(await show({ iso: true }, { columns: 200 })).toContain('2020-01-01T00:00:00.000Z')
})

it('says in a sentence that there is nothing', async () => {
  expect(await show({}, { columns: 80 }, [])).toBe('No page.\n')
  expect(await show({}, null, [])).toBe('id\thits\tat\turl\n')
})

it('sorts by numbers, with empty values last', async () => {
  const order = async (sort: string) => (await show({ sort, columns: 'hits' }, null)).trim().split('\n').slice(1)
  expect(await order('hits')).toEqual(['2', '10'])
  expect(await order('-hits')).toEqual(['10', '2'])
  expect(await order('at')).toEqual(['2', '10'])
  expect(await order('-at')).toEqual(['2', '10'])
})

it('prints full values in a pipe, as CSV and as JSON lines', async () => {
  const [header, first] = (await show({}, null)).split('\n')
  expect(header).toBe('id\thits\tat\turl')
  expect(first).toBe(`${pages[0]!.id}\t2\t${pages[0]!.at}\thttp://a/`)
  expect(await show({ csv: true, columns: 'url,hits' }, { columns: 20 })).toContain(`${pages[1]!.url},10\n`)
  const lines = (await show({ jsonl: true }, { columns: 20 })).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual(pages)
})

it.each([{ columns: 'hit' }, { sort: 'hit' }])('names the columns where %o is unknown', async (flags) => {
  await expect(show(flags, null)).rejects.toMatchObject({ code: 'USAGE', hint: 'Did you mean hits?' })
})

it('escapes control characters before it measures and cuts', async () => {
  const text = await show({}, { columns: 60 }, [{ ...pages[0]!, url: `http://a/\u001b[2J${'x'.repeat(100)}` }])
  expect(text).not.toContain('\u001b')
  expect(Math.max(...widths(text))).toBeLessThanOrEqual(60)
})
