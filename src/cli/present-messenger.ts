import { formatDuration, plural } from '../lib/format.ts'
import type { FailedMessage, FailedMessages, MessengerStatistics } from '../operations/messenger.ts'
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
  output.line(`${plural(messages, 'message')}${failed}; ${endReasons[end]}.`)
}

export async function presentTransports(transports: MessengerStatistics['transports'], output: Output): Promise<void> {
  await output.table(
    ['Transport', 'Count', 'Waiting', 'Delayed', 'In progress', 'Oldest'],
    transports.map(({ name, count, waiting, delayed, held, oldestAge }) => [
      name,
      count,
      waiting,
      delayed,
      held,
      oldestAge === null ? null : formatDuration(oldestAge),
    ]),
  )
}

export async function presentWorkers(workers: MessengerStatistics['workers'], output: Output): Promise<void> {
  if (workers.length === 0)
    return output.line('No worker is running. Start one with messenger:consume, or run serve without --no-workers.')
  await output.table(
    ['Worker', 'Process', 'Transports', 'Since', 'Working on'],
    workers.map(({ kind, host, pid, transports, startedAt, current, stopping }) => [
      kind,
      `${host} ${pid}`,
      transports.join(', '),
      startedAt,
      current.length > 0
        ? current.map(({ type, group }) => (group === null ? type : `${type} ${group}`)).join(', ')
        : stopping
          ? 'stopping'
          : null,
    ]),
  )
}

/** Lists failed messages, or counts them by type, the most frequent first. */
export async function presentFailedMessages(
  { total, items }: FailedMessages,
  output: Output,
  { counts }: { counts: boolean },
): Promise<void> {
  if (total === 0) return output.line('[OK] No failed messages were found.')
  if (counts) {
    const byType = Map.groupBy(items, ({ type }) => type)
    const rows = [...byType].map(([type, group]) => [type, group.length] as const)
    return output.table(
      ['Class', 'Count'],
      rows.toSorted((a, b) => b[1] - a[1]),
    )
  }
  await output.table(
    ['Id', 'Class', 'Failed at', 'Error'],
    items.map(({ id, type, failedAt, error }) => [id, type, failedAt, error]),
  )
  if (items.length < total) output.line(`${items.length} of ${plural(total, 'message')}. Show more with --max.`)
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
