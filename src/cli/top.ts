import { once } from 'node:events'
import { styleText } from 'node:util'
import stringWidth from 'string-width'
import truncate from 'cli-truncate'
import { allowsColor } from '../config/environment.ts'
import { PagecacheError } from '../errors.ts'
import { formatCount } from '../lib/format.ts'
import { printable, toJsonLine } from '../lib/safe-text.ts'
import { operations } from '../operations/index.ts'
import type { liveTraffic, LiveEvent, LiveRequest } from '../operations/traffic-live.ts'
import type { Given } from '../operations/operation.ts'
import { follow } from '../tui/follow.ts'
import { toSource } from '../tui/source.ts'
import type { Session } from './session.ts'

export interface TopOptions {
  filter: Given<typeof liveTraffic.input>
  /** Whether to print lines of JSON. */
  json: boolean
  /** Ends after this many requests. */
  limit: number
}

/**
 * Prints requests as they end, until the limit is reached.
 *
 * @throws INTERRUPTED
 */
export async function top(session: Session, { filter, json, limit }: TopOptions): Promise<void> {
  const printer = json ? new JsonPrinter() : new LinePrinter(session)
  const end = new AbortController()
  let left = limit
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
        await printer.requests({ requests, notShown: event.notShown })
        if (left <= 0) end.abort()
      } else await printer.processes(event.processes)
    },
    onInterruption: (reason) => {
      if (reason !== null) session.tell(printable(`No response, retrying: ${reason}`))
    },
  })
  if (session.signal.aborted) throw new PagecacheError('INTERRUPTED', 'Interrupted.')
}

/** Writes to stdout. A reader that is slow holds the stream back, so that nothing piles up here. */
async function write(text: string): Promise<void> {
  if (text !== '' && !process.stdout.write(text)) await once(process.stdout, 'drain')
}

interface Seen {
  requests: readonly LiveRequest[]
  notShown: number
}

class JsonPrinter {
  processes(processes: number): Promise<void> {
    return write(toJsonLine({ kind: 'processes', processes }))
  }

  requests({ requests, notShown }: Seen): Promise<void> {
    const lines = requests.map((request) => toJsonLine({ kind: 'request', ...request }))
    return write(lines.join('') + (notShown > 0 ? toJsonLine({ kind: 'notShown', requests: notShown }) : ''))
  }
}

const head = `${'time'.padEnd(12)}  ${'result'.padEnd(6)}  code  ${'ms'.padStart(7)}  ${'type'.padEnd(8)}  path and reason`

const colors = { hit: 'green', stale: 'cyan', miss: 'yellow', pass: 'blue', error: 'red' } as const

class LinePrinter {
  readonly #tell: Session['tell']
  readonly #hosts = new Set<string>()
  #begun = false

  constructor({ tell }: Session) {
    this.#tell = tell
  }

  async processes(processes: number): Promise<void> {
    const running = processes === 1 ? '1 daemon process' : `${processes} daemon processes`
    this.#tell(
      processes === 0 ? 'The daemon has stopped; waiting for it.' : `Requests of ${running}; press Ctrl-C to end.`,
    )
    if (!this.#begun) await write(`${head}\n`)
    this.#begun = true
  }

  requests({ requests, notShown }: Seen): Promise<void> {
    const lines = requests.map((request) => `${this.#line(request)}\n`)
    if (notShown > 0) lines.push(`… ${formatCount(notShown)} not shown\n`)
    return write(lines.join(''))
  }

  #line({ at, result, status, ms, type, host, path, reason, method }: LiveRequest): string {
    // The host says something only where there are several.
    this.#hosts.add(host)
    const url = (method === 'GET' ? '' : `${method} `) + (this.#hosts.size > 1 ? host : '') + path
    const start = `${at.slice(11, 23)}  ${result.padEnd(6)}  ${String(status || '-').padStart(4)}  ${formatMs(ms).padStart(7)}  ${type.padEnd(8)}  `
    const room = (process.stdout.columns || 120) - 1 - start.length
    const why = reason === null ? '' : `  ${printable(reason)}`
    const shown = truncate(printable(url), Math.max(8, room - Math.min(stringWidth(why), Math.floor(room / 2))), {
      position: 'middle',
    })
    const rest = truncate(why, Math.max(1, room - stringWidth(shown)))
    if (!allowsColor()) return start + shown + rest
    return start.replace(result, styleText(colors[result], result)) + shown + styleText('dim', rest)
  }
}

function formatMs(ms: number): string {
  return ms < 10 ? ms.toFixed(2) : ms < 100 ? ms.toFixed(1) : String(Math.round(ms))
}
