import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { noTuiFlag } from '#src/cli/flags.ts'
import { Output } from '#src/cli/output.ts'
import { ProgressDisplay } from '#src/cli/progress.ts'
import { PagecacheError } from '#src/errors.ts'
import { operations } from '#src/operations/index.ts'
import { toSource, type Source } from '#src/tui/source.ts'
import { warmupSummary } from '#src/tui/summary.ts'
import { warmupTab } from '#src/tui/tabs/warmup/tab.ts'
import type { Watched } from '#src/tui/tabs/warmup/watched.ts'
import { hasScreen, watchOnScreen } from '#src/tui/watch.ts'
import { watchLines } from '#src/tui/watch-lines.ts'

export default class WarmupWatch extends BaseCommand {
  static override summary = 'Watch a warmup live, and pause, resume or cancel it.'
  static override description = `On a terminal a screen with progress, rate, latency, results, worker slots and failures; ? lists its keys, q leaves it while
the warmup goes on. Off a terminal, in CI, with --no-tui and with --json a line on stderr each 5 % or 10 s until the warmup has ended.`
  static override examples = [
    { description: 'The latest warmup', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Wait for the end of the latest warmup in a script',
      command: '<%= config.bin %> <%= command.id %> --json | jq .progress.status',
    },
  ]
  static override exitCodes = exitCodes.ofOne
  static override args = { id: Args.string({ description: 'The warmup; the latest one without it.' }) }
  static override flags = { 'no-tui': noTuiFlag }

  async run(): Promise<Watched> {
    const { args, flags } = await this.parse(WarmupWatch)
    const id = args.id ?? null
    return this.performing(async (performer, app, signal) => {
      const source = toSource(await this.sourceName(app), operations, performer)
      const screen = hasScreen(!flags['no-tui'] && !this.jsonEnabled())
      const watched = screen ? await this.#onScreen(source, id, signal) : await this.#inLines(source, id, signal)
      const output = new Output()
      if (!this.jsonEnabled()) for (const line of warmupSummary(watched)) output.line(line)
      if (signal.aborted) throw new PagecacheError('INTERRUPTED', 'Interrupted.')
      return watched
    })
  }

  async #onScreen(source: Source, id: string | null, signal: AbortSignal): Promise<Watched> {
    // An id that there is not is said before the screen is taken.
    const first = await this.#first(source, id)
    const { feeds, fault } = await this.holding(() =>
      watchOnScreen({
        source,
        tabs: [warmupTab(id)],
        leaving: () => 'leave, the warmup goes on',
        untilEnd: false,
        signal,
      }),
    )
    const watched = (feeds['warmup']?.value ?? first) as Watched
    if (fault === null) return watched
    for (const line of warmupSummary(watched)) new Output().line(line)
    throw fault
  }

  async #inLines(source: Source, id: string | null, signal: AbortSignal): Promise<Watched> {
    const { progress } = await this.#first(source, id)
    if (progress === null)
      throw new PagecacheError('NOT_FOUND', 'There was no warmup yet.', { hint: 'One starts: pagecache warmup:start' })
    const display = new ProgressDisplay()
    const tell = (message: string) => {
      display.end()
      this.tell(message)
    }
    try {
      return await watchLines({ source, id: progress.id, signal, update: (advance) => display.update(advance), tell })
    } finally {
      display.end()
    }
  }

  async #first(source: Source, id: string | null): Promise<Watched> {
    const watched = (await source.perform('warmup.watch', id === null ? {} : { progressId: id })) as Watched
    if (watched.progress === null && id !== null) throw new PagecacheError('NOT_FOUND', `There is no warmup ${id}.`)
    return watched
  }
}
