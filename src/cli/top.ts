import { once } from 'node:events'
import { styleText } from 'node:util'
import truncate from 'cli-truncate'
import { allowsColor } from '../config/environment.ts'
import { PagecacheError } from '../errors.ts'
import { formatCount } from '../lib/format.ts'
import { printable, toJsonLine } from '../lib/safe-text.ts'
import { operations } from '../operations/index.ts'
import type { liveTraffic, LiveEvent, LiveRequest } from '../operations/traffic-live.ts'
import type { Given } from '../operations/operation.ts'
import { follow } from '../tui/follow.ts'
import { toSource, type Source } from '../tui/source.ts'
import { liveInShort, liveTab } from '../tui/tabs/live/tab.ts'
import type { Tail } from '../tui/tabs/live/tail.ts'
import { hasScreen, watchOnScreen } from '../tui/watch.ts'
import { cells } from './cells.ts'
import { Output } from './output.ts'
import type { Session } from './session.ts'

export interface TopOptions {
  filter: Given<typeof liveTraffic.input>
  /** Whether to print lines of JSON. */
  json: boolean
  /** Whether the terminal UI may be shown. */
  tui: boolean
  /** Ends after this many requests; null: never. */
  limit: number | null
}

/**
 * Shows requests as they end, until the operator leaves or the limit is reached. A limit is for scripts: it prints lines.
 *
 * @throws INTERRUPTED
 */
export async function top(session: Session, options: TopOptions): Promise<void> {
  const { json, limit, tui } = options
  if (hasScreen(tui && !json && limit === null)) await topOnScreen(session, options)
  else await topInLines(session, options)
  if (session.signal.aborted) throw new PagecacheError('INTERRUPTED', 'Interrupted.')
}

async function topOnScreen(session: Session, { filter }: TopOptions): Promise<void> {
  const { signal } = session
  const source = toSource(session.sourceName, operations, session.performer)
  await assertLive(source, filter, signal)
  if (signal.aborted) return
  const tabs = [liveTab(filter)]
  const { feeds, error } = await session.hold(() =>
    watchOnScreen({ source, tabs, leaving: () => 'leave', untilEnd: false, signal }),
  )
  const tail = (feeds['live']?.value ?? null) as Tail | null
  if (tail !== null && !session.quiet) new Output().line(liveInShort(tail, performance.now()))
  if (error !== null) throw error
}

/** Waits for the first event, so that a daemon that cannot be followed is reported before the terminal is taken over. */
async function assertLive(source: Source, filter: TopOptions['filter'], signal: AbortSignal): Promise<void> {
  const seen = new AbortController()
  const follower = { emit: () => seen.abort(), signal: AbortSignal.any([signal, seen.signal]) }
  await source.perform('traffic.live', filter, follower)
}

async function topInLines(session: Session, { filter, json, limit }: TopOptions): Promise<void> {
  const printer = json ? new JsonPrinter() : new LinePrinter(session)
  // With --quiet, only an explicit --json prints requests.
  const isSilent = session.quiet && !session.json
  const end = new AbortController()
  let left = limit ?? Infinity
  await follow({
    source: toSource(session.sourceName, operations, session.performer),
    operation: 'traffic.live',
    input: filter,
    signal: AbortSignal.any([session.signal, end.signal]),
    emit: async (given) => {
      const event = given as LiveEvent
      if (end.signal.aborted) return
      if (event.kind === 'requests') {
        const requests = event.requests.slice(0, left)
        left -= requests.length
        if (!isSilent) await printer.requests({ requests, notShown: event.notShown })
        if (left <= 0) end.abort()
      } else if (!isSilent) await printer.processes(event)
    },
    onInterruption: (reason) => {
      if (reason !== null) session.tell(printable(`No response, retrying: ${reason}`))
    },
  })
}

/** Writes to stdout. A reader that is slow holds the stream back, so that nothing piles up here. */
async function write(text: string): Promise<void> {
  if (text !== '' && !process.stdout.write(text)) await once(process.stdout, 'drain')
}

interface Seen {
  requests: readonly LiveRequest[]
  notShown: number
}

type Processes = Extract<LiveEvent, { kind: 'processes' }>

class JsonPrinter {
  processes({ processes, node }: Processes): Promise<void> {
    return write(toJsonLine({ kind: 'processes', processes, ...(node !== undefined && { node }) }))
  }

  requests({ requests, notShown }: Seen): Promise<void> {
    const lines = requests.map((request) => toJsonLine({ kind: 'request', ...request }))
    return write(lines.join('') + (notShown > 0 ? toJsonLine({ kind: 'notShown', requests: notShown }) : ''))
  }
}

const head = `${'time'.padEnd(12)}  ${'result'.padEnd(6)}  code  ${'ms'.padStart(7)}  ${'type'.padEnd(8)}  path and reason`

/** A map, because a daemon may send arbitrary names. */
const colors = new Map([
  ['hit', 'green'],
  ['stale', 'cyan'],
  ['miss', 'yellow'],
  ['pass', 'blue'],
  ['error', 'red'],
] as const)

class LinePrinter {
  readonly #tell: Session['tell']
  readonly #hosts = new Set<string>()
  #begun = false

  constructor({ tell }: Session) {
    this.#tell = tell
  }

  async processes({ processes, node }: Processes): Promise<void> {
    const count = processes === 1 ? '1 daemon process' : `${safe(processes)} daemon processes`
    const running = node === undefined ? count : `${count} of the node ${printable(node)}`
    this.#tell(
      processes === 0 ? 'The daemon has stopped; waiting for it.' : `Requests of ${running}; press Ctrl-C to end.`,
    )
    if (!this.#begun) await write(`${head}\n`)
    this.#begun = true
  }

  requests({ requests, notShown }: Seen): Promise<void> {
    const lines = requests.map((request) => `${this.#line(request)}\n`)
    if (notShown > 0) lines.push(`… ${formatCount(Number(notShown))} not shown\n`)
    return write(lines.join(''))
  }

  #line({ at, result, status, ms, type, host, path, reason, method }: LiveRequest): string {
    // The host says something only where there are several.
    if (this.#hosts.size < 2) this.#hosts.add(host)
    const url = safe((method === 'GET' ? '' : `${method} `) + (this.#hosts.size > 1 ? host : '') + path)
    const time = `${safe(at).slice(11, 23)}  `
    const what = safe(result).padEnd(6)
    const figures = `  ${safe(status || '-').padStart(4)}  ${formatMs(Number(ms)).padStart(7)}  ${safe(type).padEnd(8)}  `
    const room = (process.stdout.columns || 120) - 1 - cells(time + what + figures)
    const why = reason === null ? '' : `  ${safe(reason)}`
    const shown = truncate(url, Math.max(8, room - Math.min(cells(why), Math.floor(room / 2))), {
      position: 'middle',
    })
    const rest = truncate(why, Math.max(1, room - cells(shown)))
    if (!allowsColor()) return time + what + figures + shown + rest
    return time + styleText(colors.get(result) ?? 'white', what) + figures + shown + styleText('dim', rest)
  }
}

/** A value of a daemon, which may be another one than it says, for a terminal. */
function safe(value: unknown): string {
  return printable(String(value))
}

function formatMs(ms: number): string {
  return ms < 10 ? ms.toFixed(2) : ms < 100 ? ms.toFixed(1) : String(Math.round(ms))
}
