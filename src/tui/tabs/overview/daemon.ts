import type { Status } from '../../../operations/status.ts'
import { block, label, labelWidth } from '../../block.ts'
import type { Block } from '../../panel.ts'
import { shortSpan } from '../../text/amount.ts'
import { join, span } from '../../text/line.ts'
import { cut } from '../../text/width.ts'

/** The daemon that serves the visitors, or that none runs, and how its configuration differs from the file. `time`: milliseconds since the epoch. */
export function daemonBlock({ daemon, version }: Status, time: number): Block {
  // On a small screen there is room for a fault only.
  return block(daemon?.mismatch === null ? 4 : 0, (width) => {
    const room = width - labelWidth
    if (daemon === null) return [[label('daemon'), span(cut('not running: pagecache serve', room), 'bad')]]
    const { url, pid, startedAt, mismatch } = daemon
    const parts = [
      [span(url)],
      [span('for ', 'dim'), span(shortSpan(Math.max(0, time - Date.parse(startedAt)) / 1000))],
      [span(`process ${pid}`, 'dim')],
      [span(`version ${version}`, 'dim')],
    ]
    const line = [label('daemon'), ...join(parts, room)]
    return mismatch === null ? [line] : [line, [label(''), span(cut(mismatch, room), 'warn')]]
  })
}
