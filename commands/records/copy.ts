import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { ProgressDisplay } from '#src/cli/progress.ts'
import { formatCount } from '#src/lib/format.ts'
import { copyRecords } from '#src/operations/records.ts'
import type { OperationEvent } from '#src/operations/operation.ts'

export default class RecordsCopy extends BaseCommand {
  static override summary = 'Copy the records into an empty database.'
  static override description =
    'From the configured database: from SQLite to PostgreSQL, back, or to another PostgreSQL. Stop all daemons and consumers first. The copy is read back and compared before it is kept; after an error, the target is as empty as before. A password can be given in PGPASSWORD.'
  static override examples = [
    {
      description: 'Copy from SQLite to PostgreSQL',
      command: '<%= config.bin %> <%= command.id %> --to postgres://pagecache@db.example/pagecache',
    },
    { description: 'Copy back', command: '<%= config.bin %> <%= command.id %> --to sqlite' },
  ]
  static override exitCodes = [0, 1, 2, 3, 5, 130]
  static override flags = {
    to: Flags.string({
      summary: "URL of an empty PostgreSQL database; sqlite for this project's file.",
      helpValue: '<url>',
      required: true,
    }),
  }

  protected override reportsMismatch = false

  readonly #display = new ProgressDisplay()
  readonly #startedAt = performance.now()

  async run() {
    const { flags } = await this.parse(RecordsCopy)
    return this.perform(copyRecords, { to: flags.to }, ({ rows, tables, from, to }, output) => {
      this.#display.end()
      output.prose(`Copied and compared ${formatCount(rows)} rows of ${tables.length} tables from ${from} to ${to}.`)
      output.prose(
        flags.to === 'sqlite'
          ? 'Next: remove records.url from the configuration.'
          : 'Next: set records.url, or PAGECACHE_RECORDS_URL.',
      )
    }).finally(() => this.#display.end())
  }

  protected override report(event: OperationEvent): void {
    if (event.kind !== 'progress') return super.report(event)
    const { rows, total } = event.progress as { rows: number; total: number }
    const perSecond = rows / Math.max(0.001, (performance.now() - this.#startedAt) / 1000)
    this.#display.update({
      kind: 'advance',
      done: rows,
      total,
      percentage: (100 * rows) / Math.max(1, total),
      perSecond,
      etaSeconds: (total - rows) / perSecond,
      failed: 0,
    })
  }
}
