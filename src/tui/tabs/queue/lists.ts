import type { FailedMessages, MessengerStatistics } from '../../../operations/messenger.ts'
import { known, moment } from '../../facts.ts'
import type { Panel, Row } from '../../panel.ts'
import { ago, timeOfDay } from '../../text/amount.ts'
import { span, type Line } from '../../text/line.ts'
import { padEnd, padStart } from '../../text/width.ts'

/** Silence in milliseconds after which a worker may be dead. */
const missedFor = 12_000

export function workersPanel({ workers }: MessengerStatistics, time: number): Panel {
  const rows = workers.map((worker) => workerRow(worker, time))
  return {
    id: 'workers',
    title: 'Workers',
    total: null,
    rows,
    head: () => [span(`${padEnd('process', 20)}${padEnd('kind', 10)}${padEnd('transports', 18)}state`)],
    empty: 'No worker is running. Start one: pagecache messenger:consume async scheduler',
  }
}

function workerRow(worker: MessengerStatistics['workers'][number], time: number): Row {
  const { id, host, pid, kind, transports, startedAt, seenAt, stopping, current } = worker
  const missed = time - Date.parse(seenAt) >= missedFor
  const what = current.map(({ type, group }) => (group === null ? type : `${type} (${group})`)).join(', ')
  const state = missed
    ? `not seen for ${ago(Date.parse(seenAt), time).replace(' ago', '')}`
    : stopping
      ? 'stopping'
      : what === ''
        ? 'idle'
        : what
  const line = (width: number): Line => [
    span(padEnd(`${pid}@${host}`, 20)),
    span(padEnd(kind, 10), 'dim'),
    span(padEnd(transports.join(' '), 18), 'dim'),
    span(padEnd(state, Math.max(1, width - 48)), missed ? 'bad' : stopping ? 'warn' : what === '' ? 'dim' : 'plain'),
  ]
  const facts = known([
    ['Process', `${pid} on ${host}`],
    ['Kind', kind],
    ['Transports', transports.join(', ')],
    ['Messages', worker.types.join(', ')],
    ['In progress', current.map(({ type, group, id: message }) => `${type} ${group ?? ''} ${message}`).join('; ')],
    ['Started', moment(startedAt, time)],
    ['Last seen', moment(seenAt, time)],
  ])
  return {
    id,
    line,
    text: `${pid}@${host} ${kind} ${what}`,
    status: null,
    ms: null,
    bad: missed,
    detail: { title: `Worker ${id}`, url: null, facts },
  }
}

export function failedPanel({ items, total }: FailedMessages, time: number): Panel {
  const rows = items.map((message): Row => {
    const { id, type, transport, group, attempts, crashes, error, createdAt, failedAt } = message
    const line = (width: number): Line => [
      span(timeOfDay(Date.parse(failedAt)), 'dim'),
      span('  '),
      span(padEnd(type, 20)),
      span(padStart(`${attempts}×`, 4), 'dim'),
      span('  '),
      span(padEnd(error, Math.max(1, width - 36)), 'bad'),
    ]
    const facts = known([
      ['Id', id],
      ['Type', type],
      ['From', transport],
      ['Group', group],
      ['Attempts', attempts],
      ['Crashes', crashes],
      ['Error', error],
      ['Created', moment(createdAt, time)],
      ['Failed', moment(failedAt, time)],
      ['To do', `pagecache messenger:failed:retry ${id}, or messenger:failed:remove ${id}`],
    ])
    return {
      id,
      line,
      text: `${type} ${error} ${group ?? ''}`,
      status: null,
      ms: null,
      bad: true,
      detail: { title: 'Failed message', url: null, facts },
    }
  })
  const head = () => [span(`time      ${padEnd('type', 20)}${padStart('tries', 5)} error`)]
  return { id: 'failed', title: 'Failed', total, rows, head, empty: 'No failed messages.' }
}
