import * as z from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import {
  transports as transportNames,
  type FailedMessage as FailedRow,
  type Queue,
  type QueueStatistics,
} from '../queue/queue.ts'
import { count, described, flag, integer, limit, offset, succeeded, success, text, toMemoryLimit } from './fields.ts'
import { defineOperation } from './operation.ts'
import { describeEvent, work } from '../workers/workers.ts'

const receiverNames = transportNames.join(', ')
const transport = z.enum(transportNames, { error: `expected one of ${receiverNames}` })
const time = z.string().check(z.describe('ISO 8601, UTC'))

const statistics = z.object({
  success,
  transports: z.array(
    z.object({
      name: z.enum([...transportNames, 'failed']),
      count: described(count, 'messages on it in any state'),
      waiting: described(count, 'ready to be processed'),
      delayed: described(count, 'scheduled for later: retries and debounced messages'),
      held: described(count, 'being processed'),
      oldestAge: z.nullable(z.number()).check(z.describe('age of the oldest waiting message, in seconds')),
    }),
  ),
  workers: z.array(
    z.object({
      id: z.string(),
      host: z.string(),
      pid: z.int(),
      kind: z.enum(['consumer', 'daemon']),
      transports: z.array(z.string()),
      types: z.array(z.string()),
      startedAt: time,
      seenAt: time,
      stopping: z.boolean(),
      current: z.array(z.object({ id: z.string(), type: z.string(), group: z.nullable(z.string()) })),
    }),
  ),
  failed: count,
})
export type MessengerStatistics = z.output<typeof statistics>

export const messengerStatistics = defineOperation({
  name: 'messenger.stats',
  summary: 'Shows the messages on each transport and the running workers',
  input: z.object({}),
  output: statistics,
  http: { method: 'GET', path: '/messenger/stats' },
  async run({ app }) {
    return toValue(await (await app.queue()).statistics())
  },
})

function toValue({ transports, workers, failed }: QueueStatistics): MessengerStatistics {
  return {
    ...succeeded,
    transports: transports.map(({ oldestAge, ...transport }) => ({
      ...transport,
      oldestAge: oldestAge === null ? null : oldestAge / 1000,
    })),
    workers: workers.map((worker) => ({
      ...worker,
      transports: [...worker.transports],
      types: [...worker.types],
      current: [...worker.current],
      startedAt: new Date(worker.startedAt).toISOString(),
      seenAt: new Date(worker.seenAt).toISOString(),
    })),
    failed,
  }
}

const positive = z.optional(integer(1, Number.MAX_SAFE_INTEGER))

export const consumeMessages = defineOperation({
  name: 'messenger.consume',
  summary: 'Processes messages until it is stopped or a limit is reached',
  input: z.object({
    receivers: described(z._default(z.array(z.string()), []), 'in order of priority; empty: all'),
    limit: positive,
    failureLimit: positive,
    timeLimit: described(positive, 'seconds'),
    memoryLimit: described(z.optional(z.string()), 'such as 128M'),
    sleep: described(
      z.optional(z.number({ error: 'expected a number of seconds' }).check(z.minimum(0))),
      'polling interval of an empty queue, in seconds',
    ),
  }),
  output: z.object({
    success,
    receivers: z.array(transport),
    messages: count,
    failures: count,
    end: z.enum(['stopped', 'stop-workers', 'messages', 'failures', 'time', 'memory']),
  }),
  async run({ app, signal, report }, input) {
    const receivers = toReceivers(input.receivers)
    const memory = input.memoryLimit === undefined ? undefined : toMemoryLimit(input.memoryLimit)
    await app.queue()
    report({ kind: 'progress', progress: { receivers } })
    const { taken, failures, end } = await work(app, {
      kind: 'consumer',
      transports: receivers,
      limits: {
        ...(input.limit === undefined ? {} : { messages: input.limit }),
        ...(input.failureLimit === undefined ? {} : { failures: input.failureLimit }),
        ...(input.timeLimit === undefined ? {} : { time: input.timeLimit * 1000 }),
        ...(memory === undefined ? {} : { memory }),
      },
      ...(input.sleep === undefined ? {} : { sleep: input.sleep * 1000 }),
      stop: signal,
      onEvent: (event) => {
        const line = describeEvent(event)
        report(event.kind === 'handled' ? { kind: 'progress', progress: { line } } : { kind: 'message', message: line })
      },
    })
    return { ...succeeded, receivers, messages: taken, failures, end }
  },
})

/** Validates transport names; none means all. @throws INVALID_INPUT worded as in Symfony */
function toReceivers(given: readonly string[]) {
  if (given.length === 0) return [...transportNames]
  return [...new Set(given)].map((name) => {
    const known = transportNames.find((transport) => transport === name)
    if (known) return known
    throw new PagecacheError(
      'INVALID_INPUT',
      `The receiver "${name}" does not exist. Valid receivers are: ${receiverNames}.`,
      {
        ...(name === 'failed' ? { hint: 'messenger:failed:retry moves failed messages back to their transport.' } : {}),
      },
    )
  })
}

export const stopWorkers = defineOperation({
  name: 'messenger.stop-workers',
  summary: 'Stops all running workers after their current messages',
  input: z.object({}),
  output: z.object({ success, workers: described(count, 'workers that were asked to stop') }),
  http: { method: 'POST', path: '/messenger/stop-workers' },
  async run({ app }) {
    return { ...succeeded, workers: await (await app.queue()).stopWorkers() }
  },
})

const failedMessage = z.object({
  id: z.string(),
  type: z.string(),
  transport,
  group: z.nullable(z.string()),
  attempts: count,
  crashes: described(count, 'workers that crashed while processing it'),
  error: z.string(),
  createdAt: time,
  failedAt: time,
})

const failedMessages = z.object({
  success,
  total: count,
  limit: count,
  offset: count,
  items: z.array(failedMessage),
})
export type FailedMessages = z.output<typeof failedMessages>

const failedMessageWithPayload = z.extend(failedMessage, { payload: z.unknown() })
export type FailedMessage = z.output<typeof failedMessageWithPayload>

export const listFailedMessages = defineOperation({
  name: 'messenger.failed',
  summary: 'Lists failed messages, newest first',
  input: z.object({ type: z.optional(text()), transport: z.optional(transport), limit, offset }),
  output: failedMessages,
  http: { method: 'GET', path: '/messenger/failed' },
  async run({ app }, input) {
    const { type, transport: from, ...page } = input
    const { total, items } = await (
      await app.queue()
    ).listFailed({
      ...page,
      ...(type === undefined ? {} : { type }),
      ...(from === undefined ? {} : { transport: from }),
    })
    return { ...succeeded, total, ...page, items: items.map(toFailedValue) }
  },
})

export const showFailedMessage = defineOperation({
  name: 'messenger.failed.show',
  summary: 'Shows a failed message with its payload',
  input: z.object({ id: text() }),
  output: z.object({ success, message: failedMessageWithPayload }),
  http: { method: 'GET', path: '/messenger/failed/show' },
  async run({ app }, { id }) {
    const message = await (await app.queue()).readFailed(id)
    if (!message) throw notFound(id)
    return { ...succeeded, message: { ...toFailedValue(message), payload: message.payload } }
  },
})

const selection = z.object({
  ids: z.optional(z.array(text(), { error: 'expected a list of ids' })),
  all: described(flag, 'select all failed messages, instead of ids'),
  transport: z.optional(transport),
})

/** The selected ids, checked to exist; null for all. Omitting both fields selects nothing, so that a mistake cannot delete everything. */
async function selectedIds(queue: Queue, { ids, all }: z.output<typeof selection>): Promise<readonly string[] | null> {
  if (all === (ids !== undefined))
    throw new PagecacheError('INVALID_INPUT', 'ids: expected a list of ids, or all: true')
  for (const id of ids ?? []) if (!(await queue.readFailed(id))) throw notFound(id)
  return ids ?? null
}

export const retryFailedMessages = defineOperation({
  name: 'messenger.failed.retry',
  summary: 'Retries failed messages on their original transport',
  input: selection,
  output: z.object({ success, retried: count }),
  http: { method: 'POST', path: '/messenger/failed/retry' },
  async run({ app }, input) {
    const queue = await app.queue()
    return {
      ...succeeded,
      retried: await queue.retryFailed(
        await selectedIds(queue, input),
        input.transport === undefined ? {} : { transport: input.transport },
      ),
    }
  },
})

export const removeFailedMessages = defineOperation({
  name: 'messenger.failed.remove',
  summary: 'Deletes failed messages',
  input: selection,
  output: z.object({ success, removed: count }),
  http: { method: 'POST', path: '/messenger/failed/remove' },
  async run({ app }, input) {
    const queue = await app.queue()
    return {
      ...succeeded,
      removed: await queue.removeFailed(
        await selectedIds(queue, input),
        input.transport === undefined ? {} : { transport: input.transport },
      ),
    }
  },
})

function toFailedValue({ createdAt, failedAt, id, type, transport: from, group, attempts, crashes, error }: FailedRow) {
  return {
    id,
    type,
    transport: from,
    group,
    attempts,
    crashes,
    error,
    createdAt: new Date(createdAt).toISOString(),
    failedAt: new Date(failedAt).toISOString(),
  }
}

function notFound(id: string): PagecacheError {
  return new PagecacheError('NOT_FOUND', `There is no failed message ${id}.`, {
    hint: 'List them with: pagecache messenger:failed:show',
  })
}
