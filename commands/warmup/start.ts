import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { presentStartedWarmup } from '#src/cli/present-warmup.ts'
import { ProgressDisplay } from '#src/cli/progress.ts'
import { assertNonePaused } from '#src/cli/warmup-command.ts'
import { startArgs, toWarmupInput, warmupFlags } from '#src/cli/warmup-flags.ts'
import type { OperationEvent } from '#src/operations/operation.ts'

export default class WarmupStart extends BaseCommand {
  static override summary = 'Fetch the pages of a sales channel into the cache.'
  static override description = `Reads the sitemaps of one or all sales channels and queues their URLs. Workers (serve, messenger:consume async) fetch each page as a visitor would, and skip pages that are still fresh.
With --wait, the command waits for the end, fetches the pages itself if no worker is running, and exits with 1 if a page failed.`
  static override examples = [
    {
      description: 'Warm up all sales channels in a deployment script',
      command: '<%= config.bin %> <%= command.id %> --wait',
    },
    { description: 'Fetch two pages', command: '<%= config.bin %> <%= command.id %> / /sale --wait' },
    {
      description: 'Fetch the pages with a navigation again, the most visited ones first',
      command: '<%= config.bin %> <%= command.id %> --tag navigation --order hits --force --wait',
    },
    { description: 'Watch and control it in the terminal UI', command: '<%= config.bin %> <%= command.id %> --watch' },
    { description: 'List what would be fetched', command: '<%= config.bin %> <%= command.id %> --dry-run' },
    {
      description: 'Count the failed pages',
      command: '<%= config.bin %> <%= command.id %> --wait --allow-failures --json | jq .progress.failed_urls',
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override args = startArgs
  static override flags = warmupFlags

  #display = new ProgressDisplay()

  async run() {
    const { args, flags } = await this.parse(WarmupStart)
    const { assertWarmed, runWarmup } = await import('#src/cli/start-warmup.ts')
    const input = toWarmupInput(args, flags)
    if (!flags.new && !flags['dry-run']) await this.performing(({ performer }) => assertNonePaused(performer))
    const waiting = flags.watch && !flags['no-tui'] ? 'tui' : flags.watch || flags.wait ? 'lines' : 'no'
    const warmup = await this.performing((session) => {
      this.#display.quiet = session.quiet
      return runWarmup(session, { input, waiting, display: this.#display })
    })
    const { started, report, interrupted } = warmup
    const json = this.jsonEnabled()
    if (!this.#display.quiet) presentStartedWarmup(warmup, { json })
    if (report === null) return started
    const tell = (message: string) => this.tell(message)
    assertWarmed(report, { interrupted, allowFailures: flags['allow-failures'], json, tell })
    return { ...started, progress: report.progress }
  }

  protected override report(event: OperationEvent): void {
    if (event.kind === 'progress') return this.#display.showDiscovery(event.progress)
    this.#display.end()
    super.report(event)
  }
}
