import type { WarmupFailures } from '../../../operations/warmup.ts'
import { ago, shortMs, timeOfDay } from '../../text/amount.ts'
import { span, type Line } from '../../text/line.ts'
import { cutUrl, padEnd, padStart } from '../../text/width.ts'
import type { Panel, Row } from '../../panel.ts'
import type { Seats } from './seats.ts'
import type { Live, Progress } from './watched.ts'

/** Duration in milliseconds from which a request is highlighted. */
const slow = 2000

/** Path and query of a URL; the origin line has the host. */
function withoutOrigin(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(?=.)/i, '')
}

function urlSpan(url: string, width: number) {
  return span(cutUrl(withoutOrigin(url), Math.max(1, width)))
}

/** The requests in progress, one row per slot. */
export function slotsPanel({ slots, at }: Live, seats: Seats): Panel {
  const rows = seats.map((slot, index) => (slot ? slotRow(slot, index, at) : idleRow(index)))
  const head = () => [span(`${padStart('#', 3)}${padStart('taking', 8)}      path`)]
  return { id: 'slots', title: 'Worker slots', total: slots.length, rows, head, empty: 'No requests in progress.' }
}

function slotRow({ url, since, attempt, worker }: Live['slots'][number], index: number, now: number): Row {
  const ms = Math.max(0, now - since)
  const line = (width: number): Line => [
    span(padStart(String(index + 1), 3), 'dim'),
    span(padStart(shortMs(ms), 8), ms >= slow ? 'warn' : 'plain'),
    span(padStart(attempt > 1 ? `${attempt}×` : '', 4), 'warn'),
    span('  '),
    urlSpan(url, width - 17),
  ]
  const facts = [
    ['Under way', shortMs(ms)],
    ['Attempt', String(attempt)],
    ['Worker', worker],
  ] as const
  return {
    id: `slot ${index}`,
    line,
    text: url,
    status: null,
    ms,
    bad: attempt > 1,
    detail: { title: 'Request in progress', url, facts },
  }
}

function idleRow(index: number): Row {
  const line = (): Line => [span(padStart(String(index + 1), 3), 'dim'), span(`${' '.repeat(14)}idle`, 'dim')]
  return {
    id: `slot ${index}`,
    line,
    text: '',
    status: null,
    ms: null,
    bad: false,
    detail: { title: 'Idle', url: null, facts: [] },
  }
}

export function slowestPanel({ slowest, at }: Live): Panel {
  const rows = slowest.map(({ url, ms, at: then }): Row => {
    const line = (width: number): Line => [
      span(padStart(shortMs(ms), 8), ms >= slow ? 'warn' : 'plain'),
      span('  '),
      urlSpan(url, width - 10),
    ]
    const facts = [
      ['Took', shortMs(ms)],
      ['At', `${timeOfDay(then)} UTC, ${ago(then, at)}`],
    ] as const
    return {
      id: `${url} ${then}`,
      line,
      text: url,
      status: null,
      ms,
      bad: ms >= slow,
      detail: { title: 'Slow', url, facts },
    }
  })
  const head = () => [span(`${padStart('took', 8)}  path`)]
  return { id: 'slowest', title: 'Slowest', total: null, rows, head, empty: 'No page was fetched yet.' }
}

export interface Failure {
  url: string
  status: number | null
  error: string
  attempts: number
  at: number
}

/** The failures of this run, newest first: from the store once it has answered, before that the latest ones of the workers. */
export function failuresOf(
  { progress, live }: { progress: Progress; live: Live },
  listed: WarmupFailures | null,
): readonly Failure[] {
  if (listed?.progressId !== progress.id || listed.items.length < live.failures.length) return live.failures
  return listed.items
    .map((item) => ({ ...item, at: Date.parse(item.at) }))
    .toSorted((left, right) => right.at - left.at)
}

/** @param total number of failures of the run; `failures` may hold only some of them */
export function failuresPanel(failures: readonly Failure[], total: number, now: number): Panel {
  const rows = failures.map(({ url, status, error, attempts, at }): Row => {
    const line = (width: number): Line => {
      const reason = reasonCells(width)
      return [
        span(padStart(status === null ? '---' : String(status), 4), 'bad'),
        span(padStart(`${attempts}×`, 6), 'dim'),
        span('  '),
        span(padEnd(error, reason), 'warn'),
        span('  '),
        urlSpan(url, width - reason - 14),
      ]
    }
    const facts = [
      ['Status', status === null ? 'no response' : String(status)],
      ['Error', error],
      ['Attempts', String(attempts)],
      ['At', `${timeOfDay(at)} UTC, ${ago(at, now)}`],
    ] as const
    return {
      id: `${url} ${at}`,
      line,
      text: `${url} ${status ?? ''} ${error}`,
      status,
      ms: null,
      bad: true,
      detail: { title: 'Failed', url, facts },
    }
  })
  const head = (width: number) => [span(`code${padStart('tries', 6)}  ${padEnd('error', reasonCells(width))}  path`)]
  return { id: 'failures', title: 'Failed', total, rows, head, empty: 'No failures.' }
}

/** Cells of the error of a failure. */
function reasonCells(width: number): number {
  return Math.min(44, Math.floor(width / 3))
}
