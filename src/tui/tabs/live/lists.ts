import type { LiveRequest } from '../../../operations/traffic-live.ts'
import { formatCount } from '../../../lib/format.ts'
import { readableUrl } from '../../../lib/safe-text.ts'
import type { Detail, Panel, Row } from '../../panel.ts'
import { shortMs } from '../../text/amount.ts'
import { span, type Line, type Tone } from '../../text/line.ts'
import { cells, cutUrl, padEnd, padStart } from '../../text/width.ts'
import type { Tail, TailRequest } from './tail.ts'

export const resultTones: Readonly<Record<LiveRequest['result'], Tone>> = {
  hit: 'good',
  stale: 'accent',
  miss: 'warn',
  pass: 'plain',
  error: 'bad',
}

/** Milliseconds from which a request is highlighted. */
const slow = 1000

/** The requests of visitors, newest first. */
export function requestsPanel({ requests, processes }: Tail): Panel {
  const severalHosts = new Set(requests.map(({ host }) => host)).size > 1
  const rows = requests.map((request) => requestRow(request, severalHosts))
  const head = (width: number) => {
    const { type } = columns(width)
    const names = [padEnd('time', 14), padEnd('result', 7), padStart('code', 4), padStart('took', 8), '  ']
    return [span(`${names.join('')}${type > 0 ? padEnd('type', type) : ''}path and reason`)]
  }
  const empty = processes === 0 ? 'No daemon is running: pagecache serve' : 'No requests yet.'
  return { id: 'requests', title: 'Requests', total: null, rows, head, empty }
}

/** Cells of the page type, and of everything before the path. */
function columns(width: number) {
  const type = width >= 90 ? 12 : 0
  return { type, before: 35 + type }
}

function requestRow(request: TailRequest, severalHosts: boolean): Row {
  const { id, at, method, result, reason, status, ms, type, host, path } = request
  const url = (method === 'GET' ? '' : `${method} `) + (severalHosts ? host : '') + path
  const line = (width: number): Line => {
    const shown = columns(width)
    const room = Math.max(1, width - shown.before)
    // The reason gets what the path leaves, and half of the room at least.
    const why = reason === null ? 0 : Math.min(cells(reason), Math.floor(room / 2))
    const name = cutUrl(url, room - (why > 0 ? why + 2 : 0))
    return [
      span(padEnd(at.slice(11, 23), 14), 'dim'),
      span(padEnd(result, 7), resultTones[result] ?? 'plain'),
      span(padStart(status === 0 ? '-' : String(status), 4), status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'plain'),
      span(padStart(shortMs(ms), 8), ms >= slow ? 'warn' : 'plain'),
      span('  '),
      ...(shown.type > 0 ? [span(padEnd(type, shown.type), 'dim')] : []),
      span(name),
      ...(reason === null ? [] : [span(`  ${reason}`, 'dim')]),
    ]
  }
  return {
    id: String(id),
    line,
    text: `${method} ${result} ${type} ${host}${path} ${reason ?? ''}`,
    status,
    ms,
    bad: result === 'error' || status >= 500,
    detail: { title: 'Request', url: null, facts: factsOf(request), copied: path },
  }
}

function factsOf(request: TailRequest): Detail['facts'] {
  const { at, method, result, reason, status, ms, type, salesChannelId, host, path } = request
  return [
    ['Path', readableUrl(path)],
    ['Host', host],
    ['Method', method],
    ['Result', result],
    ...(reason === null ? [] : [['Reason', reason] as const]),
    ['Status', status === 0 ? 'the visitor left before the answer' : String(status)],
    ['Took', `${shortMs(ms)} until the answer began`],
    ['Type', type],
    ['Channel', salesChannelId],
    ['At', at],
  ]
}

/** The paths that were missed most since the view was opened, and why. */
export function topMissesPanel({ misses }: Tail): Panel {
  const most = [...misses.values()].toSorted((one, other) => other.requests - one.requests).slice(0, 200)
  const rows = most.map(({ path, reason, requests, ms }): Row => {
    const line = (width: number): Line => {
      const why = reasonWidth(width)
      return [
        span(padStart(formatCount(requests), 7), 'strong'),
        span(padStart(shortMs(ms / requests), 8), ms / requests >= slow ? 'warn' : 'plain'),
        span('  '),
        span(padEnd(reason, why), 'dim'),
        span('  '),
        span(cutUrl(path, Math.max(1, width - why - 19))),
      ]
    }
    const facts = [
      ['Path', readableUrl(path)],
      ['Reason', reason],
      ['Misses', formatCount(requests)],
      ['Took', `${shortMs(ms / requests)} on average`],
    ] as const
    return {
      id: `${path} ${reason}`,
      line,
      text: `miss ${path} ${reason}`,
      status: null,
      ms: ms / requests,
      bad: false,
      detail: { title: 'Frequent miss', url: null, facts, copied: path },
    }
  })
  const head = (width: number) => [
    span(`${padStart('misses', 7)}${padStart('took', 8)}  ${padEnd('reason', reasonWidth(width))}  path`),
  ]
  return { id: 'misses', title: 'Top misses', total: null, rows, head, empty: 'No misses yet.' }
}

/** Cells of the reason of a miss. */
function reasonWidth(width: number): number {
  return Math.min(36, Math.floor(width / 3))
}
