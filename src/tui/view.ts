import type { Action, ListAction } from './keys.ts'
import type { Detail, Row, TabView } from './panel.ts'
import type { Feeds } from './poller.ts'

export type RunAction = 'pause' | 'resume' | 'cancel'

/** What covers the screen or takes the keys. */
export type Overlay =
  | { kind: 'none' }
  | { kind: 'help'; scroll: number }
  | { kind: 'detail'; detail: Detail; inspection: string[] | null; scroll: number }
  | { kind: 'confirm-cancel'; id: string }
  | { kind: 'filter'; before: string }
  | { kind: 'command'; text: string }

export interface Notice {
  text: string
  tone: 'dim' | 'good' | 'warn' | 'bad'
  /** Monotonic milliseconds. */
  at: number
}

/** A request that the store has not confirmed yet. */
export interface Asked {
  action: RunAction
  id: string
}

/** Everything that keys change. Values of the store are in the feeds. */
export interface View {
  tab: number
  /** Index of the focused list, by tab. */
  focus: Readonly<Record<string, number>>
  /** The selected row and its index in case the row disappears, by tab and list. */
  selected: Readonly<Record<string, { id: string; index: number }>>
  filter: string
  errorsOnly: boolean
  /** The feeds at the moment of freezing. */
  frozen: { feeds: Feeds; at: number } | null
  overlay: Overlay
  notice: Notice | null
  asked: Asked | null
}

export const startView: View = {
  tab: 0,
  focus: {},
  selected: {},
  filter: '',
  errorsOnly: false,
  frozen: null,
  overlay: { kind: 'none' },
  notice: null,
  asked: null,
}

/** A side effect of a key. */
export type Effect =
  | { kind: 'perform'; action: RunAction; id: string }
  /** Changes the concurrency of a run by this many requests. */
  | { kind: 'adjust'; id: string; by: number }
  | { kind: 'copy'; text: string }
  | { kind: 'detach' }
  | { kind: 'suspend' }
  | { kind: 'save' }
  | { kind: 'inspect'; url: string }

/** What the screen shows when a key is pressed. */
export interface Scene {
  tabId: string
  tabs: number
  shown: TabView
  /** The rows of the focused list that the filter shows. */
  rows: readonly Row[]
  feeds: Feeds
  now: number
}

export interface KeyOutcome {
  view: View
  effect?: Effect
}

const pageRows = 10

/** Index of the selected row. Without a selection 0; if the row has disappeared, the index that it had. */
export function selectedIndex(view: View, place: string, rows: readonly Row[]): number {
  const selected = view.selected[place]
  if (!selected) return 0
  const index = rows.findIndex(({ id }) => id === selected.id)
  return index >= 0 ? index : Math.max(0, Math.min(selected.index, rows.length - 1))
}

export function placeOf(tabId: string, panelId: string): string {
  return `${tabId}/${panelId}`
}

export function focusOf(view: View, tabId: string, panels: number): number {
  return Math.min(view.focus[tabId] ?? 0, Math.max(0, panels - 1))
}

/** Handles a key outside questions and the filter. `key` is the digit of a tab. */
export function act(view: View, action: Action, key: string, scene: Scene): KeyOutcome {
  const { shown } = scene
  switch (action) {
    case 'pause':
    case 'resume':
      return shown.run
        ? {
            view: { ...view, asked: { action, id: shown.run.id } },
            effect: { kind: 'perform', action, id: shown.run.id },
          }
        : { view }
    case 'cancel':
      return shown.run ? { view: { ...view, overlay: { kind: 'confirm-cancel', id: shown.run.id } } } : { view }
    case 'adjust':
      return shown.run ? { view, effect: { kind: 'adjust', id: shown.run.id, by: key === '-' ? -1 : 1 } } : { view }
    case 'filter':
      return { view: { ...view, overlay: { kind: 'filter', before: view.filter } } }
    case 'freeze':
      return { view: { ...view, frozen: view.frozen ? null : { feeds: scene.feeds, at: scene.now } } }
    case 'errors':
      return { view: { ...view, errorsOnly: !view.errorsOnly } }
    case 'save':
      return { view, effect: { kind: 'save' } }
    case 'command':
      return { view: { ...view, overlay: { kind: 'command', text: '' } } }
    case 'copy':
      return copy(view, scene)
    case 'help':
      return {
        view: { ...view, overlay: view.overlay.kind === 'help' ? { kind: 'none' } : { kind: 'help', scroll: 0 } },
      }
    case 'detach':
    case 'suspend':
      return { view, effect: { kind: action } }
    case 'close':
      return { view: close(view) }
    case 'next-tab':
    case 'previous-tab':
      return {
        view: { ...view, tab: turn(view.tab, action === 'next-tab' ? 1 : -1, scene.tabs), overlay: { kind: 'none' } },
      }
    case 'tab':
      return { view: { ...view, tab: Math.min(Number(key) - 1, scene.tabs - 1), overlay: { kind: 'none' } } }
    default:
      return inList(view, action, scene)
  }
}

/** Copies the URL of what is selected, or the text of a row without one. */
function copy(view: View, { tabId, shown, rows }: Scene): KeyOutcome {
  if (view.overlay.kind === 'detail') return copyOf(view, copiedOf(view.overlay.detail, view.overlay.detail.title))
  const panel = shown.panels[focusOf(view, tabId, shown.panels.length)]
  const row = panel && rows[selectedIndex(view, placeOf(tabId, panel.id), rows)]
  return row ? copyOf(view, copiedOf(row.detail, row.text)) : { view }
}

function copiedOf({ copied, url }: Detail, otherwise: string): string {
  return copied ?? url ?? otherwise
}

function copyOf(view: View, text: string): KeyOutcome {
  return { view, effect: { kind: 'copy', text } }
}

/** Handles Esc: closes the overlay; without one, clears the filter. */
function close(view: View): View {
  if (view.overlay.kind !== 'none') return { ...view, overlay: { kind: 'none' } }
  return { ...view, filter: '', errorsOnly: false }
}

function inList(view: View, action: ListAction, scene: Scene): KeyOutcome {
  const { overlay } = view
  if (overlay.kind === 'detail' || overlay.kind === 'help') return { view: scrollText(view, overlay, action) }
  const { tabId, shown, rows } = scene
  const focus = focusOf(view, tabId, shown.panels.length)
  if (action === 'next-panel' || action === 'previous-panel') {
    const next = turn(focus, action === 'next-panel' ? 1 : -1, shown.panels.length)
    return { view: { ...view, focus: { ...view.focus, [tabId]: next } } }
  }
  const panel = shown.panels[focus]
  if (!panel || rows.length === 0) return { view }
  const place = placeOf(tabId, panel.id)
  const at = selectedIndex(view, place, rows)
  if (action === 'detail') return openDetail(view, rows[at]!)
  const moves = {
    up: at - 1,
    down: at + 1,
    'page-up': at - pageRows,
    'page-down': at + pageRows,
    first: 0,
    last: rows.length - 1,
  }
  const index = Math.max(0, Math.min(rows.length - 1, moves[action]))
  return { view: { ...view, selected: { ...view.selected, [place]: { id: rows[index]!.id, index } } } }
}

function openDetail(view: View, { detail }: Row): KeyOutcome {
  const opened: View = { ...view, overlay: { kind: 'detail', detail, inspection: null, scroll: 0 } }
  return detail.url === null ? { view: opened } : { view: opened, effect: { kind: 'inspect', url: detail.url } }
}

function scrollText(view: View, overlay: Extract<Overlay, { scroll: number }>, action: ListAction): View {
  if (action === 'detail') return { ...view, overlay: { kind: 'none' } }
  const steps: Partial<Record<ListAction, number>> = {
    up: -1,
    down: 1,
    'page-up': -pageRows,
    'page-down': pageRows,
    first: -Infinity,
  }
  const scroll = Math.max(0, overlay.scroll + (steps[action] ?? 0))
  return { ...view, overlay: { ...overlay, scroll } }
}

function turn(index: number, by: number, length: number): number {
  return length === 0 ? 0 : (index + by + length) % length
}

const confirmed: Record<RunAction, readonly string[]> = {
  pause: ['paused', 'completed', 'cancelled', 'failed'],
  resume: ['running', 'completed', 'cancelled', 'failed'],
  cancel: ['cancelled', 'completed', 'failed'],
}

/** Whether the store has confirmed a request. */
export function isConfirmed(asked: Asked, run: TabView['run']): boolean {
  return run === null || run.id !== asked.id || confirmed[asked.action].includes(run.status)
}
