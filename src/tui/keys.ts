/** Actions on the rows of a list, or on the text of an overlay. */
export type ListAction =
  | 'next-panel'
  | 'previous-panel'
  | 'up'
  | 'down'
  | 'page-up'
  | 'page-down'
  | 'first'
  | 'last'
  | 'detail'

/** The actions of keys. */
export type Action =
  | ListAction
  | 'pause'
  | 'resume'
  | 'cancel'
  | 'adjust'
  | 'filter'
  | 'freeze'
  | 'errors'
  | 'save'
  | 'copy'
  | 'command'
  | 'help'
  | 'detach'
  | 'suspend'
  | 'close'
  | 'next-tab'
  | 'previous-tab'
  | 'tab'

export interface KeyBinding {
  /** Key names, as `nameKey` returns them. */
  keys: readonly string[]
  /** The keys as shown to the operator. */
  label: string
  action: Action
  help: string
  /** One word for the bottom line; without it, the key is listed in the help only. */
  hint?: string | ((context: KeyContext) => string)
  /** When the key works; default: always. */
  when?(context: KeyContext): boolean
}

/** What decides which keys are available. */
export interface KeyContext {
  status: string | null
  tabs: number
  panels: number
  /** Whether the client may change anything. */
  mayWrite: boolean
  frozen: boolean
}

const manyTabs = ({ tabs }: KeyContext) => tabs > 1
const mayChangeRun = ({ status, mayWrite }: KeyContext) => mayWrite && (status === 'running' || status === 'paused')
const manyPanels = ({ panels }: KeyContext) => panels > 1

/** All keys. Key handling, the bottom line, the help and the documentation are derived from this table. */
export const keyTable: readonly KeyBinding[] = [
  { keys: ['?', 'h'], label: '?', action: 'help', help: 'Show the keys', hint: 'help' },
  {
    keys: ['p'],
    label: 'p',
    action: 'pause',
    help: 'Pause the warmup; pages in progress are finished',
    hint: 'pause',
    when: ({ status, mayWrite }) => mayWrite && status === 'running',
  },
  {
    keys: ['r'],
    label: 'r',
    action: 'resume',
    help: 'Resume the paused warmup',
    hint: 'resume',
    when: ({ status, mayWrite }) => mayWrite && status === 'paused',
  },
  {
    keys: ['c'],
    label: 'c',
    action: 'cancel',
    help: 'Cancel the warmup, after a confirmation',
    hint: 'cancel',
    when: mayChangeRun,
  },
  {
    keys: ['+', '-', '='],
    label: '+ -',
    action: 'adjust',
    help: 'One concurrent request per origin more or fewer, in this warmup',
    hint: 'speed',
    when: mayChangeRun,
  },
  { keys: ['left', '['], label: '←', action: 'previous-tab', help: 'Previous tab', when: manyTabs },
  { keys: ['right', ']'], label: '→', action: 'next-tab', help: 'Next tab', when: manyTabs },
  {
    keys: ['1', '2', '3', '4', '5', '6'],
    label: '1-6',
    action: 'tab',
    help: 'Go to a tab',
    hint: 'tabs',
    when: manyTabs,
  },
  { keys: ['tab'], label: 'tab', action: 'next-panel', help: 'Next list', hint: 'list', when: manyPanels },
  { keys: ['shift+tab'], label: 'shift tab', action: 'previous-panel', help: 'Previous list', when: manyPanels },
  { keys: ['up', 'k'], label: '↑', action: 'up', help: 'One row up' },
  { keys: ['down', 'j'], label: '↓', action: 'down', help: 'One row down' },
  { keys: ['pageup', 'ctrl+b'], label: 'page up', action: 'page-up', help: 'Ten rows up' },
  { keys: ['pagedown', 'ctrl+f'], label: 'page down', action: 'page-down', help: 'Ten rows down' },
  { keys: ['home', 'g'], label: 'home', action: 'first', help: 'The first row' },
  { keys: ['end', 'G'], label: 'end', action: 'last', help: 'The last row' },
  { keys: ['return'], label: 'enter', action: 'detail', help: 'Details of the selected row', hint: 'detail' },
  {
    keys: ['/'],
    label: '/',
    action: 'filter',
    help: 'Filter rows by words; !word: without it; a|b: either; 5xx, 404: by status; >1s: slower',
    hint: 'filter',
  },
  {
    keys: ['e'],
    label: 'e',
    action: 'errors',
    help: 'Show only failures, or everything',
    hint: 'errors',
  },
  {
    keys: ['f', ' '],
    label: 'f',
    action: 'freeze',
    help: 'Freeze or resume',
    hint: ({ frozen }) => (frozen ? 'unfreeze' : 'freeze'),
  },
  { keys: ['y'], label: 'y', action: 'copy', help: 'Copy the URL or text of the selected row (OSC 52)', hint: 'copy' },
  { keys: [':'], label: ':', action: 'command', help: 'Run a command by name; tab completes it', hint: 'command' },
  {
    keys: ['s'],
    label: 's',
    action: 'save',
    help: 'Save a snapshot as JSON in the working directory',
    hint: 'save',
  },
  { keys: ['escape'], label: 'esc', action: 'close', help: 'Close the detail or clear the filter' },
  { keys: ['ctrl+z'], label: 'ctrl z', action: 'suspend', help: 'Suspend; fg resumes' },
  { keys: ['q', 'ctrl+c'], label: 'q', action: 'detach', help: 'Quit', hint: 'leave' },
]

/** The fields of Ink's key event that are used here. */
export interface Press {
  upArrow: boolean
  downArrow: boolean
  leftArrow: boolean
  rightArrow: boolean
  pageUp: boolean
  pageDown: boolean
  home: boolean
  end: boolean
  return: boolean
  escape: boolean
  tab: boolean
  shift: boolean
  ctrl: boolean
  backspace: boolean
  delete: boolean
}

const named: readonly (readonly [keyof Press, string])[] = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageUp', 'pageup'],
  ['pageDown', 'pagedown'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'return'],
  ['escape', 'escape'],
  ['backspace', 'backspace'],
  ['delete', 'backspace'],
]

/** The name of a key press: `p`, `up`, `shift+tab`, `ctrl+c`. */
export function nameKey(input: string, press: Press): string {
  if (press.tab) return press.shift ? 'shift+tab' : 'tab'
  const special = named.find(([key]) => press[key])
  if (special) return special[1]
  return press.ctrl ? `ctrl+${input}` : input
}

/** One key and the text that it types. */
export interface Stroke {
  key: string
  input: string
}

/** A mouse report in SGR form: button, column, row, and whether it was pressed (M) or released (m). */
const mouseReport = /\u001b\[<(\d{1,4});(\d{1,4});(\d{1,4})([Mm])/g

/** Keys of the wheel. */
const wheel: Readonly<Record<string, string>> = { 64: 'up', 65: 'down' }

/** The strokes of the mouse reports in an input. `tabAt`: the digit of the tab at a place of the screen, null for none. */
export function mouseStrokes(input: string, tabAt: (column: number, row: number) => string | null): Stroke[] {
  return [...input.matchAll(mouseReport)].flatMap(([, button = '', column, row, action]) => {
    if (action !== 'M') return []
    const key = wheel[button] ?? (button === '0' ? tabAt(Number(column), Number(row)) : null)
    return key === null ? [] : [{ key, input: '' }]
  })
}

const controls: Readonly<Record<string, string>> = { '\t': 'tab', '\r': 'return', '\n': 'return' }

/** Splits one read of the terminal into keys: several arrive together when typed quickly or over a slow connection. */
export function strokesOf(input: string, press: Press): Stroke[] {
  const key = nameKey(input, press)
  if (key !== input || input.length < 2) return [{ key, input }]
  return Array.from(input, (character) => ({ key: controls[character] ?? character, input: character }))
}

/** The action of a key; null if it has none at the moment. */
export function actionOf(key: string, context: KeyContext): Action | null {
  const binding = keyTable.find(({ keys }) => keys.includes(key))
  return binding && (binding.when?.(context) ?? true) ? binding.action : null
}

/** The keys to list in the bottom line. */
export function hints(context: KeyContext): { label: string; hint: string }[] {
  return keyTable.flatMap(({ label, hint, when }) =>
    hint !== undefined && (when?.(context) ?? true)
      ? [{ label, hint: typeof hint === 'string' ? hint : hint(context) }]
      : [],
  )
}
