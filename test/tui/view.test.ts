import { describe, expect, it } from 'vitest'
import { matches, visibleRows } from '../../src/tui/filter.ts'
import type { Panel, Row, TabView } from '../../src/tui/panel.ts'
import { answer, type } from '../../src/tui/typing.ts'
import { act, isConfirmed, selectedIndex, startView, type Scene, type View } from '../../src/tui/view.ts'

function row(id: string, change: Partial<Row> = {}): Row {
  return {
    id,
    line: () => [],
    text: id,
    status: null,
    ms: null,
    bad: false,
    detail: { title: id, url: `http://shop/${id}`, facts: [] },
    ...change,
  }
}

const rows = ['a', 'b', 'c', 'd'].map((id) => row(id))
const panel = (id: string): Panel => ({ id, title: id, total: null, rows, empty: '' })
const shown: TabView = {
  blocks: [],
  panels: [panel('one'), panel('two')],
  stale: null,
  run: { id: 'r1', status: 'running' },
  short: '',
}
const scene: Scene = { tabId: 't', tabs: 3, shown, rows, feeds: {}, now: 0 }
const press = (view: View, action: Parameters<typeof act>[1], key = '') => act(view, action, key, scene)

describe('the selected row', () => {
  it('moves, and stays within the list', () => {
    let view = startView
    for (const [action, expected] of [
      ['down', 1],
      ['down', 2],
      ['up', 1],
      ['last', 3],
      ['down', 3],
      ['first', 0],
      ['up', 0],
      ['page-down', 3],
    ] as const) {
      view = press(view, action).view
      expect(selectedIndex(view, 't/one', rows)).toBe(expected)
    }
  })

  it('is followed when it moves, and replaced by its neighbour when it goes', () => {
    const { view } = press(press(startView, 'down').view, 'down')
    expect(selectedIndex(view, 't/one', [rows[2]!, rows[0]!])).toBe(0)
    expect(selectedIndex(view, 't/one', [rows[0]!, rows[1]!])).toBe(1)
    expect(selectedIndex(view, 't/one', [])).toBe(0)
  })

  it('is another one in each list', () => {
    const { view } = press(press(startView, 'down').view, 'next-panel')
    expect(selectedIndex(view, 't/two', rows)).toBe(0)
    expect(press(view, 'next-panel').view.focus['t']).toBe(0)
    expect(press(view, 'previous-panel').view.focus['t']).toBe(0)
  })

  it('opens with enter, and what the cache says of its URL is asked for', () => {
    const { view, effect } = press(startView, 'detail')
    expect(view.overlay).toMatchObject({ kind: 'detail', detail: { title: 'a' } })
    expect(effect).toEqual({ kind: 'inspect', url: 'http://shop/a' })
    expect(press(view, 'close').view.overlay.kind).toBe('none')
  })
})

describe('commands', () => {
  it('pause and resume are asked for, and shown as asked for', () => {
    expect(press(startView, 'pause')).toMatchObject({
      view: { asked: { action: 'pause', id: 'r1' } },
      effect: { kind: 'perform', action: 'pause', id: 'r1' },
    })
  })

  it('cancel happens only after yes', () => {
    const { view, effect } = press(startView, 'cancel')
    expect(effect).toBe(undefined)
    expect(answer(view, 'x')).toEqual({ view })
    expect(answer(view, 'n')).toEqual({ view: startView })
    expect(answer(view, 'escape')).toEqual({ view: startView })
    expect(answer(view, 'y')).toMatchObject({
      effect: { kind: 'perform', action: 'cancel', id: 'r1' },
      view: { overlay: { kind: 'none' } },
    })
    expect(answer(view, 'ctrl+c').effect).toEqual({ kind: 'detach' })
  })

  it('are confirmed when the store says so, and not before', () => {
    const asked = { action: 'pause', id: 'r1' } as const
    expect(isConfirmed(asked, { id: 'r1', status: 'running' })).toBe(false)
    expect(isConfirmed(asked, { id: 'r1', status: 'paused' })).toBe(true)
    expect(isConfirmed(asked, { id: 'r1', status: 'completed' })).toBe(true)
    expect(isConfirmed(asked, { id: 'r2', status: 'running' })).toBe(true)
    expect(isConfirmed({ action: 'resume', id: 'r1' }, { id: 'r1', status: 'paused' })).toBe(false)
    expect(isConfirmed({ action: 'cancel', id: 'r1' }, { id: 'r1', status: 'paused' })).toBe(false)
  })
})

describe('the filter', () => {
  const typed = (view: View, ...keys: string[]) =>
    keys.reduce((now, key) => type(now, key, key.length === 1 || key.includes(' ') ? key : '').view, view)

  it('is typed, taken back with esc, kept with enter', () => {
    const opened = press({ ...startView, filter: 'old' }, 'filter').view
    expect(typed(opened, 'backspace', 'x')).toMatchObject({ filter: 'olx', overlay: { kind: 'filter' } })
    expect(typed(opened, 'x', 'escape')).toMatchObject({ filter: 'old', overlay: { kind: 'none' } })
    expect(typed(opened, 'x', 'return')).toMatchObject({ filter: 'oldx', overlay: { kind: 'none' } })
    expect(typed(opened, 'a pasted text')).toMatchObject({ filter: 'olda pasted text' })
    expect(type(opened, 'ctrl+c', 'c').effect).toEqual({ kind: 'detach' })
  })

  it('takes no control characters, and only so much', () => {
    const opened = press(startView, 'filter').view
    expect(type(opened, 'a\nb', 'a\nb').view.filter).toBe('')
    expect(type(opened, 'x'.repeat(999), 'x'.repeat(999)).view.filter).toHaveLength(200)
  })

  it('esc outside of it takes it back', () => {
    expect(press({ ...startView, filter: 'x', errorsOnly: true }, 'close').view).toEqual(startView)
  })

  const failed = row('/de/warenkorb 503 unavailable', { status: 503, ms: 1200, bad: true })
  it.each([
    ['503', true],
    ['5xx', true],
    ['404', false],
    ['4xx', false],
    ['!5xx', false],
    ['WAREN', true],
    ['!waren', false],
    ['>1s', true],
    ['>2s', false],
    ['>900ms 5xx', true],
    ['', true],
    ['  ', true],
    ['/de !fr', true],
  ])('%j', (filter, expected) => {
    expect(matches(failed, filter)).toBe(expected)
  })

  it('errors only leaves what went wrong', () => {
    expect(visibleRows([...rows, failed], '', true)).toEqual([failed])
    expect(visibleRows([...rows, failed], '', false)).toHaveLength(5)
  })
})

it('tabs go round, and have numbers', () => {
  expect(press({ ...startView, tab: 2 }, 'next-tab').view.tab).toBe(0)
  expect(press(startView, 'previous-tab').view.tab).toBe(2)
  expect(press(startView, 'tab', '2').view.tab).toBe(1)
  expect(press(startView, 'tab', '9').view.tab).toBe(2)
})

it('freezing keeps what was known then', () => {
  const feeds = { warmup: { value: 1, at: 0, error: null, failures: 0, since: 0 } }
  const { view } = act(startView, 'freeze', 'f', { ...scene, feeds, now: 7 })
  expect(view.frozen).toEqual({ feeds, at: 7 })
  expect(press(view, 'freeze').view.frozen).toBe(null)
})
