import { visibleRows } from './filter.ts'
import { commandsOf } from './commands.ts'
import { Effects } from './effects.ts'
import { actionOf, mouseStrokes, type Action, type KeyContext, type Stroke } from './keys.ts'
import type { TabView } from './panel.ts'
import { Poller, type Feeds } from './poller.ts'
import { tabAt, toScreen } from './screen.ts'
import type { ScreenInput } from './screen-input.ts'
import type { Source } from './source.ts'
import type { Tab } from './tab.ts'
import type { Line } from './text/line.ts'
import { answer, type, typeCommand } from './typing.ts'
import { act, focusOf, isConfirmed, startView, type Notice, type KeyOutcome, type View } from './view.ts'

export interface SessionOptions {
  source: Source
  tabs: readonly Tab[]
  /** What `q` does, in a few words. */
  leaving(feeds: Feeds): string
  /** Quits when the run ends. */
  untilEnd: boolean
  /** Monotonic milliseconds. */
  now(): number
  /** Milliseconds since the epoch. */
  time(): number
  random(): number
  /** Puts a text into the clipboard of the terminal. */
  copy(text: string): void
  /** Writes a file and returns its path. */
  save(file: string, content: string): Promise<string>
}

/** Redraw interval in milliseconds: the clock and the ages of values move without new values. */
const tickEvery = 1000
/** Pause between two keys after which a filter counts as typed, in milliseconds. */
const typingPause = 300

/**
 * The state of a running monitor, independent of the terminal: feeds, view and the lines of the screen. Polls only the operations of the
 * visible tab. A requested pause, resume or cancel is shown as requested until the store confirms it.
 */
export class Session {
  readonly #options: SessionOptions
  readonly #poller: Poller
  readonly #effects: Effects
  readonly #listeners = new Set<() => void>()
  #view: View = startView
  #version = 0
  #ticker: NodeJS.Timeout | null = null
  #typing: NodeJS.Timeout | null = null
  #left = false
  /** Whether the client may change anything; not before that is known. */
  #mayWrite: boolean
  readonly #leave = Promise.withResolvers<void>()

  constructor(options: SessionOptions) {
    this.#options = options
    const { source, now, random, time, copy, save } = options
    this.#mayWrite = source.mayWrite === undefined
    this.#poller = new Poller({ source, now, random, onChange: () => this.#onNews() })
    this.#effects = new Effects({
      source,
      time,
      copy,
      save,
      view: () => this.#view,
      show: (change) => this.#show(change),
      notice: (text, tone) => this.#notice(text, tone),
      feeds: () => this.#view.frozen?.feeds ?? this.#poller.feeds,
      hurry: () => this.#poller.hurry(),
      leave: () => this.#end(),
      suspend: () => this.onSuspend(),
    })
  }

  get feeds(): Feeds {
    return this.#poller.feeds
  }

  get view(): View {
    return this.#view
  }

  /** Called to suspend the UI (Ctrl-Z); set by the component that renders the session. */
  onSuspend: () => void = () => {}

  /** Settled when the operator quits, or the run has ended with `untilEnd`. */
  get left(): Promise<void> {
    return this.#leave.promise
  }

  start(): void {
    this.#poll()
    void this.#learnScope()
    this.#ticker ??= setInterval(() => this.#changed(), tickEvery)
  }

  stop(): void {
    this.#poller.stop()
    if (this.#ticker) clearInterval(this.#ticker)
    if (this.#typing) clearTimeout(this.#typing)
    this.#ticker = null
  }

  /** Learns what the client may do. It may try everything where that cannot be told: the daemon refuses what is not allowed. */
  async #learnScope(): Promise<void> {
    const { source } = this.#options
    this.#mayWrite = (await source.mayWrite?.().catch(() => true)) ?? true
    this.#changed()
  }

  /** For React: calls the listener after every change. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly version = (): number => this.#version

  /** The lines of a screen of this size. */
  screen(columns: number, rows: number): Line[] {
    return toScreen(this.#input(columns, rows))
  }

  /** The strokes of the mouse reports in an input, on a screen of this size. */
  mouse(input: string, columns: number, rows: number): Stroke[] {
    return mouseStrokes(input, (column, row) => (row === 1 ? tabAt(this.#input(columns, rows), column) : null))
  }

  #input(columns: number, rows: number): ScreenInput {
    const { source, tabs, leaving, now, time } = this.#options
    return {
      columns,
      rows,
      name: source.name,
      tabs,
      view: this.#view,
      shown: this.#shown(),
      leaving: leaving(this.#poller.feeds),
      mayWrite: this.#mayWrite,
      now: now(),
      time: time(),
    }
  }

  /** Handles keys that arrived together. A question accepts a single key only, so that text pasted by mistake does not cancel a run. */
  pressAll(strokes: readonly Stroke[]): void {
    for (const { key, input } of strokes) {
      this.press(key, input)
      if (this.#view.overlay.kind === 'confirm-cancel') return
    }
  }

  press(key: string, input: string): void {
    const before = this.#view
    const { view, effect } = this.#apply(key, input)
    this.#view = view
    if (view.tab !== before.tab) this.#poll()
    else if (view.filter !== before.filter) this.#pollSoon()
    if (effect) this.#effects.follow(effect)
    this.#changed()
  }

  #poll(): void {
    const { plans, search } = this.#tab
    this.#poller.want(search && this.#view.filter.trim() !== '' ? search(this.#view.filter) : plans)
  }

  /** While a filter is typed, the daemon is asked only when the keys pause. */
  #pollSoon(): void {
    if (this.#typing) clearTimeout(this.#typing)
    this.#typing = setTimeout(() => this.#poll(), typingPause)
  }

  get #tab(): Tab {
    return this.#options.tabs[this.#view.tab]!
  }

  /** The current values of the store, even while the screen is frozen. */
  #current(): TabView {
    const { now, time } = this.#options
    return this.#tab.view({ feeds: this.#poller.feeds, asked: this.#view.asked, now: now(), time: time() })
  }

  /** The view of the tab: frozen if its feeds were known at the moment of freezing. Run state and age are always current. */
  #shown(): TabView {
    const current = this.#current()
    const { frozen, asked } = this.#view
    if (!frozen || !Object.keys(this.#tab.plans).every((name) => frozen.feeds[name])) return current
    const { run, stale } = current
    const { now, time } = this.#options
    const then = time() - (now() - frozen.at)
    return { ...this.#tab.view({ feeds: frozen.feeds, asked, now: frozen.at, time: then }), run, stale }
  }

  #apply(key: string, input: string): KeyOutcome {
    const view = this.#view
    if (view.overlay.kind === 'filter') return type(view, key, input)
    if (view.overlay.kind === 'confirm-cancel') return answer(view, key)
    const shown = this.#shown()
    const context = this.#context(shown)
    if (view.overlay.kind === 'command') return this.#command(shown, key, input)
    const action = actionOf(key, context)
    return action === null ? { view } : this.#act(view, shown, action, key)
  }

  #context(shown: TabView): KeyContext {
    return {
      status: shown.run?.status ?? null,
      tabs: this.#options.tabs.length,
      panels: shown.panels.length,
      mayWrite: this.#mayWrite,
      frozen: this.#view.frozen !== null,
    }
  }

  #command(shown: TabView, key: string, input: string): KeyOutcome {
    const titles = this.#options.tabs.map(({ title }) => title)
    const commands = commandsOf(titles, this.#context(shown))
    const { chosen, unknown, ...outcome } = typeCommand(this.#view, key, input, commands)
    if (chosen !== undefined) return this.#act(outcome.view, shown, chosen.action, chosen.key)
    if (unknown === undefined) return outcome
    const text = `No command ${JSON.stringify(unknown)}. Commands: ${commands.map(({ name }) => name).join(', ')}`
    return { view: { ...outcome.view, notice: { text, tone: 'warn', at: this.#options.now() } } }
  }

  #act(view: View, shown: TabView, action: Action, key: string): KeyOutcome {
    const panel = shown.panels[focusOf(view, this.#tab.id, shown.panels.length)]
    const rows = visibleRows(panel?.rows ?? [], view.filter, view.errorsOnly)
    return act(view, action, key, {
      tabId: this.#tab.id,
      tabs: this.#options.tabs.length,
      shown,
      rows,
      feeds: this.#poller.feeds,
      now: this.#options.now(),
    })
  }

  #notice(text: string, tone: Notice['tone']): void {
    this.#show({ notice: { text, tone, at: this.#options.now() } })
  }

  #show(change: Partial<View>): void {
    this.#view = { ...this.#view, ...change }
    this.#changed()
  }

  #onNews(): void {
    const { run } = this.#current()
    const { asked } = this.#view
    if (asked && isConfirmed(asked, run)) this.#view = { ...this.#view, asked: null }
    const ended = run !== null && run.status !== 'running' && run.status !== 'paused'
    if (ended && this.#options.untilEnd) this.#end()
    this.#changed()
  }

  #end(): void {
    if (this.#left) return
    this.#left = true
    this.#leave.resolve()
  }

  #changed(): void {
    this.#version++
    for (const listener of this.#listeners) listener()
  }
}
