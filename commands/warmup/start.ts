import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { Output } from '#src/cli/output.ts'
import { presentDiscovery, presentPlan, presentWarmup } from '#src/cli/present-warmup.ts'
import { discoveryText, ProgressDisplay } from '#src/cli/progress.ts'
import { PagecacheError } from '#src/errors.ts'
import { plural } from '#src/lib/plural.ts'
import { printable } from '#src/lib/printable.ts'
import { performOperation, type OperationContext, type OperationEvent } from '#src/operations/operation.ts'
import { startWarmup, workWarmup, type Started, type WarmupReport } from '#src/operations/warmup.ts'

export default class WarmupStart extends BaseCommand {
  static override summary = "Bring a sales channel's pages into the cache."
  static override description = `Finds the URLs in the sitemaps of one or all sales channels and fetches each as a visitor would. Pages that are fresh in
the cache are left alone. The command works the warmup itself and ends with it. With --wait, exit code 1 says that a page could not be warmed.`
  static override examples = [
    { description: 'All sales channels; for a deployment script', command: '<%= config.bin %> <%= command.id %> --wait' },
    { description: 'What would be fetched, without fetching it', command: '<%= config.bin %> <%= command.id %> --dry-run' },
    { description: 'How many pages failed', command: '<%= config.bin %> <%= command.id %> --wait --allow-failures --json | jq .progress.failed_urls' },
  ]
  static override exitCodes = [0, 1, 2, 3, 130]
  static override flags = {
    'sales-channel': Flags.string({ summary: 'Only this sales channel.', helpValue: '<id>' }),
    'batch-size': Flags.integer({ summary: 'URLs in one batch of work, 1 to 1000.', default: 50, helpValue: '<n>' }),
    wait: Flags.boolean({ summary: 'Wait for the end, and exit with 1 if a page failed.' }),
    'allow-failures': Flags.boolean({ summary: 'Exit with 0 even if pages failed.' }),
    force: Flags.boolean({ summary: 'Fetch pages that are fresh in the cache too.' }),
    'dry-run': Flags.boolean({ summary: 'Say what would be fetched, and fetch nothing but sitemaps.' }),
  }

  #display = new ProgressDisplay()

  async run(): Promise<Started & Partial<Pick<WarmupReport, 'progress'>>> {
    const { flags } = await this.parse(WarmupStart)
    const { value, report, interrupted } = await this.withApp(async (app) => {
      const context: OperationContext = { app, source: 'cli', actor: null, signal: app.signal, report: (event) => this.report(event) }
      app.signal.addEventListener('abort', () => this.tell('\nFinishing what is under way; once more stops at once.'), { once: true })
      try {
        const input = { salesChannelId: flags['sales-channel'] ?? null, batchSize: flags['batch-size'], force: flags.force, dryRun: flags['dry-run'] }
        const value = await performOperation(startWarmup, context, input)
        if (value.progressId === null) return { value, report: null, interrupted: false }
        if (!flags.wait) this.tell('No worker runs elsewhere: this command works the warmup itself.')
        const report = await workWarmup(context, value.progressId)
        return { value, report, interrupted: app.signal.aborted }
      } finally {
        this.#display.end()
      }
    })
    if (report === null) {
      if (!this.jsonEnabled()) presentPlan(value, new Output())
      return value
    }
    if (this.jsonEnabled()) presentDiscovery(report.discovery, new Output(process.stderr))
    else presentWarmup(report, new Output())
    this.#judge(report, interrupted, flags)
    return flags.wait ? { ...value, progress: report.progress } : value
  }

  protected override report(event: OperationEvent): void {
    if (event.kind === 'message') {
      this.#display.end()
      return super.report(event)
    }
    const { progress } = event
    if (progress['phase'] === 'discovery') {
      this.#display.update({ kind: 'text', text: discoveryText({ files: Number(progress['files']), urls: Number(progress['urls']) }) })
      return
    }
    const failed = Number(progress['failed_urls'])
    this.#display.update({
      kind: 'advance',
      done: Number(progress['processed_urls']) + failed,
      total: Number(progress['total_urls']),
      percentage: Number(progress['percentage']),
      perSecond: Number(progress['urls_per_second']),
      etaSeconds: typeof progress['eta_seconds'] === 'number' ? progress['eta_seconds'] : null,
      failed,
    })
  }

  /** Throws what the run's end means; with `--json` the value is printed and only the exit code says it. */
  #judge({ progress, failures }: WarmupReport, interrupted: boolean, flags: { wait: boolean; 'allow-failures': boolean }): void {
    const fault = toFault(progress, interrupted, flags.wait && !flags['allow-failures'])
    if (fault === null) return
    if (!this.jsonEnabled()) throw fault
    process.exitCode = fault.exit
    for (const line of [fault.message, ...failures.map(({ url, error }) => `${url} ${error}`)]) this.tell(printable(line))
  }
}

function toFault(progress: WarmupReport['progress'], interrupted: boolean, failuresCount: boolean): PagecacheError | null {
  if (interrupted) return new PagecacheError('INTERRUPTED', 'Interrupted. What was fetched is in the cache; start again for the rest.')
  if (progress.status === 'failed') return new PagecacheError('WARMUP_FAILED', progress.message ?? 'The warmup failed.')
  if (!failuresCount || progress.failed_urls === 0) return null
  return new PagecacheError('WARMUP_FAILED', `${progress.failed_urls} of ${plural(progress.total_urls, 'URL')} could not be warmed.`)
}
