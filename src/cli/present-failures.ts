import { formatCount } from '../lib/format.ts'
import type { Performer } from '../operations/operation.ts'
import { listWarmupFailures, type WarmupFailures } from '../operations/warmup.ts'
import { presentList, toCsv, type Column, type ViewFlags } from './list.ts'
import type { Output } from './output.ts'

/** Failures read per request; the most that the operation returns. */
const batchSize = 1000

const columns: readonly Column<WarmupFailures['items'][number]>[] = [
  { name: 'status', value: (item) => item.status },
  { name: 'attempts', value: (item) => item.attempts, minor: true },
  { name: 'at', value: (item) => item.at, kind: 'time', minor: true },
  { name: 'url', value: (item) => item.url, kind: 'url' },
  { name: 'reason', value: (item) => item.error, kind: 'text' },
]

/** Lists failures; on a terminal with the most frequent reasons first. */
export async function presentFailures(
  { total, reasons, items }: WarmupFailures,
  output: Output,
  flags: ViewFlags,
): Promise<void> {
  if (output.terminal && reasons.length > 0 && !flags.jsonl) {
    output.line('Reasons:')
    for (const { count, error, remedy } of reasons) {
      await output.hanging(`  ${formatCount(count)} × `, error)
      if (remedy !== null) await output.hanging('      ', remedy)
    }
  }
  await presentList({ columns, items, total, noun: 'failure', empty: 'No page failed.' }, output, flags)
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
