import { visibleRows } from './filter.ts'
import { readableUrl } from '../lib/safe-text.ts'
import { commandsOf } from './commands.ts'
import { reason, toInspection } from './inspection.ts'
import { actionOf, mouseStrokes, type Action, type KeyContext, type Stroke } from './keys.ts'
import type { TabView } from './panel.ts'
import { Poller, type Feeds } from './poller.ts'
import { toReport } from './report.ts'
import { tabAt, toScreen } from './screen.ts'
import type { ScreenInput } from './screen-input.ts'
import type { Source } from './source.ts'
import type { Tab } from './tab.ts'
import type { Line } from './text/line.ts'
import {
  act,
  answer,
  focusOf,
  isConfirmed,
  startView,
  type,
  typeCommand,
  type Effect,
  type Notice,
  type KeyOutcome,
  type RunAction,
  type View,
} from './view.ts'

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

/**
 * The state of a running monitor, independent of the terminal: feeds, view and the lines of the screen. Polls only the operations of the
 * visible tab. A requested pause, resume or cancel is shown as requested until the store confirms it.
 */
export class Session {
  readonly #options: SessionOptions
  readonly #poller: Poller
  readonly #listeners = new Set<() => void>()
  #view: View = startView
  #version = 0
  #ticker: NodeJS.Timeout | null = null
  #left = false
  /** Whether the client may change anything; not before that is known. */
  #mayWrite: boolean
  readonly #leave = Promise.withResolvers<void>()

  constructor(options: SessionOptions) {
    this.#options = options
    const { source, now, random } = options
    this.#mayWrite = source.mayWrite === undefined
    this.#poller = new Poller({ source, now, random, onChange: () => this.#onNews() })
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
    this.#poller.want(this.#tab.plans)
    void this.#learnScope()
    this.#ticker ??= setInterval(() => this.#changed(), tickEvery)
  }

  stop(): void {
    this.#poller.stop()
    if (this.#ticker) clearInterval(this.#ticker)
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
    const before = this.#view.tab
    const { view, effect } = this.#apply(key, input)
    this.#view = view
    if (view.tab !== before) this.#poller.want(this.#tab.plans)
    if (effect) this.#follow(effect)
    this.#changed()
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

  #follow(effect: Effect): void {
    if (effect.kind === 'detach') return this.#end()
    if (effect.kind === 'suspend') return this.onSuspend()
    if (effect.kind === 'perform') return void this.#perform(effect.action, effect.id)
    if (effect.kind === 'copy') return this.#copy(effect.text)
    if (effect.kind === 'inspect') return void this.#inspect(effect.url)
    void this.#save()
  }

  #copy(text: string): void {
    this.#options.copy(text)
    this.#notice(`Copied ${readableUrl(text)}`, 'good')
  }

  /** Sends a request to the store. The screen shows it as done only after the store has confirmed it. */
  async #perform(action: RunAction, id: string): Promise<void> {
    try {
      await this.#options.source.perform(`warmup.${action}`, { progressId: id })
    } catch (error) {
      this.#view = { ...this.#view, asked: null }
      this.#notice(`Cannot ${action} the warmup: ${reason(error)}`, 'bad')
    }
    this.#poller.hurry()
  }

  async #inspect(url: string): Promise<void> {
    const lines = await this.#options.source
      .perform('cache.inspect', { url })
      .then(toInspection, (error: unknown) => [`Cannot inspect the page: ${reason(error)}`])
    const { overlay } = this.#view
    // Another row may have been opened in the meantime.
    if (overlay.kind !== 'detail' || overlay.detail.url !== url) return
    this.#view = { ...this.#view, overlay: { ...overlay, inspection: lines } }
    this.#changed()
  }

  async #save(): Promise<void> {
    const { source, time, save } = this.#options
    const { file, content } = toReport(source.name, this.#view.frozen?.feeds ?? this.#poller.feeds, time())
    await save(file, content).then(
      (path) => this.#notice(`Saved as ${path}`, 'good'),
      (error: unknown) => this.#notice(`Cannot save ${file}: ${reason(error)}`, 'bad'),
    )
  }

  #notice(text: string, tone: Notice['tone']): void {
    this.#view = { ...this.#view, notice: { text, tone, at: this.#options.now() } }
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
