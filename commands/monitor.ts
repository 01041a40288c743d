import { setTimeout as sleep } from 'node:timers/promises'
import { BaseCommand } from '#src/cli/base-command.ts'
import { noTuiFlag } from '#src/cli/flags.ts'
import { Output } from '#src/cli/output.ts'
import { PagecacheError } from '#src/errors.ts'
import { printable } from '#src/lib/printable.ts'
import { operations } from '#src/operations/index.ts'
import { isDueLine, monitorSummary, readAll, readLast, type SystemState } from '#src/tui/monitor-summary.ts'
import { monitorTabs } from '#src/tui/monitor-tabs.ts'
import { toSource, type Source } from '#src/tui/source.ts'
import { hasScreen, watchOnScreen } from '#src/tui/watch.ts'

/** Off a terminal: how often the system is looked at (milliseconds). */
const lookEvery = 1000

/** How long who leaves the screen waits for the last values (milliseconds). */
const patience = 1000

export default class Monitor extends BaseCommand {
  static override summary = 'Watch the whole system live: cache, warmup, purges, queue, tasks.'
  static override description = `On a terminal a screen with a tab for each part; ? lists its keys, q leaves it. Off a terminal, in CI and with --no-tui a line on
stderr each 10 s, or each 5 % of a warmup, until it is interrupted. With --json the state of all parts once.`
  static override examples = [
    { description: 'The screen', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'How many messages failed for good',
      command: '<%= config.bin %> <%= command.id %> --json | jq .queue.failed',
    },
  ]
  static override flags = { 'no-tui': noTuiFlag }

  async run(): Promise<Partial<SystemState>> {
    const { flags } = await this.parse(Monitor)
    return this.performing(async (performer, app, signal) => {
      const source = toSource(await this.sourceName(app), operations, performer)
      if (this.jsonEnabled()) return readAll(source)
      if (!hasScreen(!flags['no-tui'])) return this.#inLines(source, signal)
      const { feeds, fault } = await this.holding(() =>
        watchOnScreen({ source, tabs: monitorTabs, leaving: () => 'leave', untilEnd: false, signal }),
      )
      const state = await readLast(source, feeds, patience)
      const output = new Output()
      for (const line of monitorSummary(state)) output.line(line)
      if (fault !== null) throw fault
      if (signal.aborted) throw new PagecacheError('INTERRUPTED', 'Interrupted.')
      return state
    })
  }

  async #inLines(source: Source, signal: AbortSignal): Promise<never> {
    // What does not answer at the beginning is an error; later it is asked again.
    let state = await readAll(source)
    let printed: { state: SystemState; at: number } | null = null
    let trouble = ''
    for (;;) {
      const now = performance.now()
      if (isDueLine(printed, state, now)) {
        this.tell(printable(monitorSummary(state).join('; ')))
        printed = { state, at: now }
      }
      await sleep(lookEvery, undefined, { signal }).catch(() => {})
      const looked = signal.aborted
        ? null
        : await readAll(source).catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
      if (signal.aborted || looked === null) throw new PagecacheError('INTERRUPTED', 'Interrupted.')
      if (typeof looked !== 'string') state = looked
      else if (looked !== trouble) this.tell(printable(`No answer, asking again: ${looked}`))
      trouble = typeof looked === 'string' ? looked : ''
    }
  }
}
