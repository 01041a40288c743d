import { describe, expect, it } from 'vitest'
import { scrollTo, toLayout } from '../../src/tui/layout.ts'
import { fitBlocks } from '../../src/tui/screen.ts'
import { panelLines } from '../../src/tui/panel-lines.ts'
import { span, toText } from '../../src/tui/text/line.ts'

const sizes = [60, 79, 80, 100, 109, 110, 120, 200].flatMap((columns) =>
  [15, 16, 24, 30, 40, 70].map((rows) => [columns, rows] as const),
)

describe.each(sizes)('on %i×%i', (columns, rows) => {
  it.each([0, 1, 2, 3, 4].flatMap((panels) => [false, true].map((lead) => [panels, lead] as const)))(
    '%i lists (lead: %s) stand below the figures, above the foot, and nowhere on each other',
    (panels, lead) => {
      const { kind, summary, areas } = toLayout(columns, rows, 12, panels, 0, lead)
      expect(kind).toBe('full')
      const taken = new Set<string>()
      for (const { row, column, width, height } of areas) {
        expect(row).toBeGreaterThanOrEqual(1 + summary)
        expect(row + height).toBeLessThanOrEqual(rows - 1)
        expect(column + width).toBeLessThanOrEqual(columns)
        expect(height).toBeGreaterThanOrEqual(5)
        for (let y = row; y < row + height; y++) {
          for (let x = column; x < column + width; x++) {
            expect(taken.has(`${x},${y}`)).toBe(false)
            taken.add(`${x},${y}`)
          }
        }
      }
    },
  )
})

it.each([
  [59, 40],
  [200, 14],
  [10, 3],
  [1, 1],
])('%i×%i has room for one line', (columns, rows) => {
  expect(toLayout(columns, rows, 12, 3, 0).kind).toBe('one-line')
})

it('the focused list is the one that is seen where there is room for one', () => {
  expect(toLayout(80, 24, 12, 3, 2)).toMatchObject({ arrangement: 'tabbed', areas: [{ panel: 2 }] })
  expect(toLayout(120, 40, 12, 3, 2)).toMatchObject({
    arrangement: 'grid',
    areas: [{ panel: 0 }, { panel: 1 }, { panel: 2 }],
  })
  expect(toLayout(80, 60, 12, 3, 2)).toMatchObject({
    arrangement: 'stacked',
    areas: [{ panel: 0 }, { panel: 1 }, { panel: 2 }],
  })
})

it('a leading list gets the room that the others do not need', () => {
  const heights = (rows: number, panels: number, columns = 80) =>
    toLayout(columns, rows, 4, panels, 0, true).areas.map(({ height }) => height)
  expect(heights(24, 2)).toEqual([9, 9])
  expect(heights(42, 2)).toEqual([24, 12])
  expect(heights(46, 3, 200)).toEqual([27, 13, 13])
})

it('a list shows its selected row wherever that is', () => {
  for (let selected = 0; selected < 30; selected++) {
    const first = scrollTo(selected, 30, 7)
    expect(first).toBeGreaterThanOrEqual(0)
    expect(first + 7).toBeLessThanOrEqual(30)
    expect(selected - first).toBeGreaterThanOrEqual(0)
    expect(selected - first).toBeLessThan(7)
  }
  expect(scrollTo(2, 3, 7)).toBe(0)
})

it('the lines that matter least are left out first', () => {
  const blocks = [
    ['a', 0],
    ['b', 3],
    ['c', 1],
    ['d', 3],
  ].map(([text, rank]) => ({ rank: rank as number, lines: [[span(text as string)]] }))
  const kept = (rows: number) => fitBlocks(blocks, rows).map(toText)
  expect(kept(5)).toEqual(['a', 'b', 'c', 'd', ''])
  expect(kept(3)).toEqual(['a', 'b', 'c'])
  expect(kept(1)).toEqual(['a'])
})

it('a selected row is inverted, except for its bar', () => {
  const row = {
    id: 'a',
    line: () => [span('one'), span('██▌  ', 'accent')],
    text: '',
    status: null,
    ms: null,
    bad: false,
  }
  const rows = [{ ...row, detail: { title: '', url: null, facts: [] } }]
  const panel = { id: 'p', title: 'P', total: null, rows, empty: '' }
  const view = { filter: '', errorsOnly: false }
  const [, line] = panelLines({ panel, rows, selected: 0, width: 20, height: 3, view, title: null })
  expect(line!.slice(1, 3)).toEqual([span('one', 'selected'), span('██▌  ', 'accent')])
})
