import { formatCount, formatDuration, plural } from '../lib/format.ts'
import type { FailedMessage, FailedMessages, MessengerStatistics } from '../operations/messenger.ts'
import { presentList, type Column } from './list.ts'
import type { Output } from './output.ts'

/** Lines that Symfony's worker prints at its start, in its words. */
export function workerIntroduction(
  transports: readonly string[],
  limits: {
    limit?: string | undefined
    failureLimit?: string | undefined
    memory?: string | undefined
    time?: string | undefined
  },
): string[] {
  const { limit, failureLimit, memory, time } = limits
  const conditions = [
    ...(limit === undefined ? [] : [`processed ${limit} messages`]),
    ...(failureLimit === undefined ? [] : [`reached ${failureLimit} failed messages`]),
    ...(memory === undefined ? [] : [`exceeded ${memory} of memory`]),
    ...(time === undefined ? [] : [`been running for ${time}s`]),
  ]
  const first = conditions.length === 0 ? '' : `${conditions.join(', ')} or `
  return [
    `[OK] Consuming messages from transport${transports.length > 1 ? 's' : ''} "${transports.join(', ')}".`,
    `// The worker will automatically exit once it has ${first}received a stop signal via the messenger:stop-workers command.`,
    '// Quit the worker with CONTROL-C.',
  ]
}

const endReasons = {
  stopped: 'stopped by a signal',
  'stop-workers': 'stopped by messenger:stop-workers',
  messages: 'message limit reached',
  failures: 'failure limit reached',
  time: 'time limit reached',
  memory: 'memory limit exceeded',
}

/** Prints how many messages a worker handled, and why it stopped. */
export function presentConsumed(
  { messages, failures, end }: { messages: number; failures: number; end: keyof typeof endReasons },
  output: Output,
): void {
  const failed = failures > 0 ? `, ${plural(failures, 'failure')}` : ''
  output.prose(`${plural(messages, 'message')}${failed}; ${endReasons[end]}.`)
}

const transportColumns: readonly Column<MessengerStatistics['transports'][number]>[] = [
  { name: 'Transport', value: ({ name }) => name },
  { name: 'Count', value: ({ count }) => count },
  { name: 'Waiting', value: ({ waiting }) => waiting },
  { name: 'Delayed', value: ({ delayed }) => delayed },
  { name: 'In progress', value: ({ held }) => held, minor: true },
  {
    name: 'Oldest',
    value: ({ oldestAge }) => oldestAge,
    show: ({ oldestAge }) => (oldestAge === null ? null : formatDuration(oldestAge)),
  },
]

/** Prints the transports; on a terminal only those with messages. */
export async function presentTransports(transports: MessengerStatistics['transports'], output: Output): Promise<void> {
  const items = transports.filter(({ count }) => !output.terminal || count > 0)
  await presentList({ columns: transportColumns, items, noun: 'transport', empty: 'No messages.' }, output, null)
}

type WorkerValue = MessengerStatistics['workers'][number]

const workerColumns: readonly Column<WorkerValue>[] = [
  { name: 'Worker', value: ({ kind }) => kind },
  { name: 'Process', value: ({ host, pid }) => `${host} ${pid}` },
  { name: 'Transports', value: ({ transports }) => transports.join(', '), kind: 'text', minor: true },
  { name: 'Since', value: ({ startedAt }) => startedAt, kind: 'time' },
  { name: 'Working on', value: workText, kind: 'text' },
]

function workText({ current, stopping }: WorkerValue): string | null {
  if (current.length === 0) return stopping ? 'stopping' : null
  return current.map(({ type, group }) => (group === null ? type : `${type} ${group}`)).join(', ')
}

export async function presentWorkers(workers: MessengerStatistics['workers'], output: Output): Promise<void> {
  const empty = 'No worker is running. Start one with messenger:consume, or run serve without --no-workers.'
  if (workers.length === 0) return output.prose(empty)
  await presentList({ columns: workerColumns, items: workers, noun: 'worker', empty }, output, null)
}

const failedColumns: readonly Column<FailedMessages['items'][number]>[] = [
  { name: 'Id', value: ({ id }) => id, kind: 'id' },
  { name: 'Class', value: ({ type }) => type, kind: 'text' },
  { name: 'Failed at', value: ({ failedAt }) => failedAt, kind: 'time' },
  { name: 'Error', value: ({ error }) => error, kind: 'text' },
]

/** Lists failed messages, or counts them by type, the most frequent first. */
export async function presentFailedMessages(
  { total, items }: FailedMessages,
  output: Output,
  { counts }: { counts: boolean },
): Promise<void> {
  if (total === 0) return output.prose('[OK] No failed messages were found.')
  if (counts) {
    const byType = Map.groupBy(items, ({ type }) => type)
    const rows = [...byType].map(([type, group]) => [type, group.length] as const)
    return output.table(
      ['Class', 'Count'],
      rows.toSorted((a, b) => b[1] - a[1]),
    )
  }
  await presentList({ columns: failedColumns, items, noun: 'message', empty: '' }, output, null)
  if (items.length < total)
    output.prose(`${formatCount(items.length)} of ${plural(total, 'message')}. Show more with --max.`)
}

export function presentFailedMessage(message: FailedMessage, output: Output): void {
  output.pairs([
    ['Id', message.id],
    ['Class', message.type],
    ['Transport', message.transport],
    ['Group', message.group],
    ['Sent at', message.createdAt],
    ['Failed at', message.failedAt],
    ['Attempts', message.attempts],
    ['Crashes', message.crashes],
    ['Error', message.error],
    ['Payload', JSON.stringify(message.payload)],
  ])
}
