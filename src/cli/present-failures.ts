import { formatCount } from '../lib/format.ts'
import { printable } from '../lib/safe-text.ts'
import type { Performer } from '../operations/operation.ts'
import { listWarmupFailures, type WarmupFailures } from '../operations/warmup.ts'
import type { Cell, Output } from './output.ts'

/** Failures read per request; the most that the operation returns. */
const batchSize = 1000

/** Lists failures; on a terminal with the most frequent reasons first. */
export async function presentFailures({ total, reasons, items }: WarmupFailures, output: Output): Promise<void> {
  if (output.terminal && reasons.length > 0) {
    output.line('Reasons:')
    for (const reason of reasons) output.line(`  ${formatCount(reason.count)} × ${reason.error}`)
  }
  await output.table(
    ['status', 'attempts', 'at', 'url', 'reason'],
    items.map((item) => [item.status, item.attempts, item.at, item.url, item.error]),
  )
  output.more(items.length, total, 'failure', 'Show more with --limit and --offset, or all with --csv.')
}

/** Writes all failures that match the filter to stdout as CSV. */
export async function writeFailures(
  performer: Performer,
  filter: Parameters<typeof performer.perform<typeof listWarmupFailures.input, WarmupFailures>>[1],
): Promise<void> {
  for (let offset = 0, total = 1; offset < total; offset += batchSize) {
    const value = await performer.perform(listWarmupFailures, { ...filter, limit: batchSize, offset })
    total = value.total
    const rows = value.items.map(({ url, variant, status, error, attempts, at }) => {
      return [url, variant, status, error, attempts, at]
    })
    const head = offset === 0 ? [['url', 'variant', 'status', 'error', 'attempts', 'at']] : []
    process.stdout.write(await toCsv([...head, ...rows]))
  }
}

/** Formats rows as CSV (RFC 4180). Formulas are escaped for spreadsheets, control characters for terminals. */
export async function toCsv(rows: readonly (readonly Cell[])[]): Promise<string> {
  const { stringify } = await import('csv-stringify/sync')
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? printable(cell) : cell)))
  return stringify(cells, { escape_formulas: true })
}
