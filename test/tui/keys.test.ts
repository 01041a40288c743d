import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  actionOf,
  hints,
  keyTable,
  mouseStrokes,
  nameKey,
  strokesOf,
  type KeyContext,
  type Press,
} from '../../src/tui/keys.ts'

const none: Press = {
  upArrow: false,
  downArrow: false,
  leftArrow: false,
  rightArrow: false,
  pageUp: false,
  pageDown: false,
  home: false,
  end: false,
  return: false,
  escape: false,
  tab: false,
  shift: false,
  ctrl: false,
  backspace: false,
  delete: false,
}
const watching: KeyContext = { status: 'running', tabs: 1, panels: 3, mayWrite: true, frozen: false }

describe('the table of keys', () => {
  it('has no key twice', () => {
    const keys = keyTable.flatMap((binding) => binding.keys)
    expect(new Set(keys).size).toBe(keys.length)
  })

  it.each([
    ['p', 'pause'],
    ['c', 'cancel'],
    ['/', 'filter'],
    ['f', 'freeze'],
    ['tab', 'next-panel'],
    ['up', 'up'],
    ['return', 'detail'],
    ['e', 'errors'],
    ['s', 'save'],
    ['?', 'help'],
    ['q', 'detach'],
    ['ctrl+c', 'detach'],
  ])('%s asks for %s', (key, action) => {
    expect(actionOf(key, watching)).toBe(action)
  })

  it('what the state does not allow is not asked for', () => {
    expect(actionOf('r', watching)).toBe(null)
    expect(actionOf('p', { ...watching, status: 'paused' })).toBe(null)
    expect(actionOf('r', { ...watching, status: 'paused' })).toBe('resume')
    expect(actionOf('c', { ...watching, status: 'completed' })).toBe(null)
    expect(actionOf('right', watching)).toBe(null)
    expect(actionOf('right', { ...watching, tabs: 5 })).toBe('next-tab')
    expect(actionOf('x', watching)).toBe(null)
  })

  it('the foot names only what can be pressed now', () => {
    expect(hints(watching).map(({ label }) => label)).toEqual([
      '?',
      'p',
      'c',
      '+ -',
      'tab',
      'enter',
      '/',
      'e',
      'f',
      'y',
      ':',
      's',
      'q',
    ])
    expect(hints({ ...watching, mayWrite: false }).map(({ label }) => label)).not.toContain('p')
    expect(hints({ ...watching, frozen: true })).toContainEqual({ label: 'f', hint: 'unfreeze' })
  })
})

it('a key press has one name', () => {
  expect(nameKey('p', none)).toBe('p')
  expect(nameKey('', { ...none, upArrow: true })).toBe('up')
  expect(nameKey('', { ...none, tab: true, shift: true })).toBe('shift+tab')
  expect(nameKey('c', { ...none, ctrl: true })).toBe('ctrl+c')
  expect(nameKey('', { ...none, delete: true })).toBe('backspace')
})

it('keys that arrive at once are keys each', () => {
  expect(strokesOf('f\tj\r', none).map(({ key }) => key)).toEqual(['f', 'tab', 'j', 'return'])
  expect(strokesOf('ü', none)).toEqual([{ key: 'ü', input: 'ü' }])
  expect(strokesOf('', { ...none, upArrow: true })).toEqual([{ key: 'up', input: '' }])
})

it('the wheel moves through lists, and a click goes to a tab', () => {
  const tabAt = (column: number, row: number) => (row === 1 && column === 20 ? '3' : null)
  const keys = (input: string) => mouseStrokes(input, tabAt).map(({ key }) => key)
  expect(keys('\u001b[<65;10;12M')).toEqual(['down'])
  expect(keys('\u001b[<64;10;12M\u001b[<64;10;12M')).toEqual(['up', 'up'])
  expect(keys('\u001b[<0;20;1M')).toEqual(['3'])
  // The button is released, another one is pressed, or nothing is there.
  for (const input of ['[<0;20;1m', '[<2;20;1M', '[<0;21;1M', '[<0;20;2M']) expect(keys(`\u001b${input}`)).toEqual([])
  expect(keys('p')).toEqual([])
})

it('docs/monitor.md has the table of keys', () => {
  const text = readFileSync(new URL('../../docs/monitor.md', import.meta.url), 'utf8')
  for (const { label, help } of keyTable)
    expect(text).toContain(`| \`${label}\` | ${help.replaceAll('|', String.raw`\|`)} |`)
})
