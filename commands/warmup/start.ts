import { hostname } from 'node:os'
import * as Flags from '@oclif/core/flags'
import type { App } from '#src/app.ts'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { noTuiFlag } from '#src/cli/flags.ts'
import { Output } from '#src/cli/output.ts'
import { presentDiscovery, presentPlan, presentWarmup } from '#src/cli/present-warmup.ts'
import { discoveryText, ProgressDisplay, toAdvance } from '#src/cli/progress.ts'
import { PagecacheError } from '#src/errors.ts'
import { plural } from '#src/lib/plural.ts'
import { printable } from '#src/lib/printable.ts'
import { operations } from '#src/operations/index.ts'
import type { OperationEvent, Performer } from '#src/operations/operation.ts'
import { readWarmupProgress } from '#src/operations/warmup.ts'
import { startWarmup, tellWorkers, type Started } from '#src/operations/warmup-start.ts'
import { waitForWarmup, type WarmupReport } from '#src/workers/warmup-wait.ts'
import type { Feeds } from '#src/tui/poller.ts'
import { toSource } from '#src/tui/source.ts'
import { warmupTab } from '#src/tui/tabs/warmup/tab.ts'
import type { Watched } from '#src/tui/tabs/warmup/watched.ts'
import { hasScreen, watchOnScreen } from '#src/tui/watch.ts'

export default class WarmupStart extends BaseCommand {
  static override summary = "Bring a sales channel's pages into the cache."
  static override description = `Finds the URLs in the sitemaps of one or all sales channels and gives them to the queue, whose workers (serve, messenger:consume async)
fetch each as a visitor would. Pages that are fresh in the cache are left alone. With --wait the command ends with the warmup, works it itself
where no worker runs, and exits with 1 if a page could not be warmed.`
  static override examples = [
    {
      description: 'All sales channels; for a deployment script',
      command: '<%= config.bin %> <%= command.id %> --wait',
    },
    { description: 'With a screen to steer it from', command: '<%= config.bin %> <%= command.id %> --watch' },
    {
      description: 'What would be fetched, without fetching it',
      command: '<%= config.bin %> <%= command.id %> --dry-run',
    },
    {
      description: 'How many pages failed',
      command: '<%= config.bin %> <%= command.id %> --wait --allow-failures --json | jq .progress.failed_urls',
    },
  ]
  static override exitCodes = exitCodes.ofOne
  static override flags = {
    'sales-channel': Flags.string({ summary: 'Only this sales channel.', helpValue: '<id>' }),
    'batch-size': Flags.integer({ summary: 'URLs in one batch of work, 1 to 1000.', default: 50, helpValue: '<n>' }),
    watch: Flags.boolean({ summary: 'Wait, and watch it on a screen meanwhile; off a terminal the same as --wait.' }),
    'no-tui': noTuiFlag,
    wait: Flags.boolean({ summary: 'Wait for the end, and exit with 1 if a page failed.' }),
    'allow-failures': Flags.boolean({ summary: 'Exit with 0 even if pages failed.' }),
    force: Flags.boolean({ summary: 'Fetch pages that are fresh in the cache too.' }),
    'dry-run': Flags.boolean({ summary: 'Say what would be fetched, and fetch nothing but sitemaps.' }),
  }

  #display = new ProgressDisplay()

  async run(): Promise<Started & Partial<Pick<WarmupReport, 'progress'>>> {
    const { flags } = await this.parse(WarmupStart)
    const { value, report, interrupted } = await this.performing(async (performer, app, signal) => {
      try {
        const input = {
          salesChannelId: flags['sales-channel'] ?? null,
          batchSize: flags['batch-size'],
          force: flags.force,
          dryRun: flags['dry-run'],
        }
        const value = await performer.perform(startWarmup, input)
        if (value.progressId === null) return { value, report: null, interrupted: false }
        if (!flags.wait && !flags.watch) {
          const { progress } = await performer.perform(readWarmupProgress, { progressId: value.progressId })
          if (progress?.status === 'failed')
            throw new PagecacheError('WARMUP_FAILED', progress.message ?? 'The warmup failed.')
          if (app !== null && progress?.status === 'running')
            await tellWorkers({ app, report: (event) => this.report(event) })
          return { value, report: null, interrupted: false }
        }
        const screen = hasScreen(flags.watch && !flags['no-tui'] && !this.jsonEnabled())
        const report = await (screen
          ? this.#watch(performer, app, signal, value.progressId)
          : this.#wait(performer, app, signal, value.progressId))
        return { value, report, interrupted: signal.aborted }
      } finally {
        this.#display.end()
      }
    })
    if (report === null) {
      if (!this.jsonEnabled()) this.#presentStarted(value)
      return value
    }
    if (this.jsonEnabled()) presentDiscovery(report.discovery, new Output(process.stderr))
    else this.#presentReport(report)
    this.#judge(report, interrupted, flags['allow-failures'])
    return { ...value, progress: report.progress }
  }

  async #wait(performer: Performer, app: App | null, signal: AbortSignal, id: string): Promise<WarmupReport> {
    signal.addEventListener('abort', () => this.tell('\nFinishing what is under way; once more stops at once.'), {
      once: true,
    })
    return waitForWarmup(
      {
        performer,
        app,
        signal,
        onProgress: (progress) => this.#display.update(toAdvance(progress)),
        onMessage: (message) => this.report({ kind: 'message', message }),
      },
      id,
    )
  }

  /** The same with a screen: who leaves it no longer waits. */
  async #watch(performer: Performer, app: App | null, signal: AbortSignal, id: string): Promise<WarmupReport> {
    this.#display.end()
    const [left, broken] = [new AbortController(), new AbortController()]
    const onMessage = (message: string) => this.report({ kind: 'message', message })
    const waiting = waitForWarmup(
      { performer, app, signal: AbortSignal.any([signal, left.signal]), onProgress: () => {}, onMessage },
      id,
    )
    // A fault of the waiting is thrown below, when the terminal is as it was.
    waiting.catch(() => broken.abort())
    const source = toSource(await this.sourceName(app), operations, performer)
    const leaving = app === null ? () => goesOn : leavingWords
    const { fault } = await this.holding(() =>
      watchOnScreen({
        source,
        tabs: [warmupTab(id)],
        leaving,
        untilEnd: true,
        signal: AbortSignal.any([signal, broken.signal]),
      }),
    )
    left.abort()
    const report = await waiting
    if (fault !== null) throw fault
    return report
  }

  #presentReport(report: WarmupReport): void {
    const output = new Output()
    const { id, status } = report.progress
    presentWarmup(report, output)
    if (status === 'running') output.line(`It goes on; to see it again: pagecache warmup:watch ${id}`)
    if (status === 'paused') output.line(`To go on with it: pagecache warmup:resume ${id}`)
  }

  #presentStarted(value: Started): void {
    const output = new Output()
    if (value.progressId === null) return presentPlan(value, output)
    output.line(`Warmup ${value.progressId}: ${plural(value.totalUrls, 'URL')}.`)
    if (value.totalUrls > 0) output.line('How far it is: pagecache warmup:progress, or warmup:watch.')
  }

  protected override report(event: OperationEvent): void {
    if (event.kind === 'message') {
      this.#display.end()
      return super.report(event)
    }
    const { progress } = event
    if (progress['phase'] !== 'discovery') return
    this.#display.update({
      kind: 'text',
      text: discoveryText({ files: Number(progress['files']), urls: Number(progress['urls']) }),
    })
  }

  /** Throws what the run's end means; with `--json` the value is printed and only the exit code says it. */
  #judge({ progress, failures }: WarmupReport, interrupted: boolean, failuresAllowed: boolean): void {
    const fault = toFault(progress, interrupted, failuresAllowed)
    if (fault === null) return
    if (!this.jsonEnabled()) throw fault
    process.exitCode = fault.exit
    for (const line of [fault.message, ...failures.map(({ url, error }) => `${url} ${error}`)])
      this.tell(printable(line))
  }
}

const goesOn = 'leave, the warmup goes on'

/** What leaving the screen means: where nobody else works on the run, it waits until somebody does. */
function leavingWords(feeds: Feeds): string {
  const { live } = (feeds['warmup']?.value ?? { live: null }) as Pick<Watched, 'live'>
  const others = live?.workers.some(({ alive, host, pid }) => alive && (host !== hostname() || pid !== process.pid))
  return others ? goesOn : 'leave and pause it (no other worker)'
}

function toFault(
  progress: WarmupReport['progress'],
  interrupted: boolean,
  failuresAllowed: boolean,
): PagecacheError | null {
  if (interrupted) return new PagecacheError('INTERRUPTED', afterInterrupt[progress.status] ?? 'Interrupted.')
  if (progress.status === 'failed') return new PagecacheError('WARMUP_FAILED', progress.message ?? 'The warmup failed.')
  if (progress.status === 'cancelled')
    return new PagecacheError(
      'WARMUP_FAILED',
      `The warmup was cancelled; ${plural(progress.remaining_urls, 'URL')} of it not done.`,
    )
  // Somebody left the screen before the end.
  if (progress.status === 'running' || progress.status === 'paused') return null
  if (failuresAllowed || progress.failed_urls === 0) return null
  return new PagecacheError(
    'WARMUP_FAILED',
    `${progress.failed_urls} of ${plural(progress.total_urls, 'URL')} could not be warmed.`,
  )
}

const afterInterrupt: Readonly<Record<string, string>> = {
  running: 'Interrupted. Other workers go on with the warmup.',
  paused: 'Interrupted. What was fetched is in the cache; pagecache warmup:resume goes on with the rest.',
}
