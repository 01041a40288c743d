import { formatCount } from '../../../lib/format.ts'
import { shortBytes, shortMs } from '../../text/amount.ts'
import { join, span, type Line } from '../../text/line.ts'
import { label, labelWidth } from '../../block.ts'
import type { Live } from './watched.ts'

const shown = 2

/** Event loop delay in milliseconds from which a process is highlighted. */
const slowLoop = 100

/** The workers of the run, with memory and event loop delay. */
export function processLines({ workers, behind }: Live, width: number): Line[] {
  const alive = workers.filter((worker) => worker.alive)
  if (alive.length === 0) return [[label('process'), span(behind ? 'busy with another warmup' : 'no worker', 'dim')]]
  return alive
    .slice(0, shown)
    .map(({ host, pid, memory, eventLoopDelay, done }, index) => [
      label(index === 0 ? 'process' : ''),
      ...join(
        [
          [span(`${pid}@${host}`)],
          [span('memory ', 'dim'), span(shortBytes(memory.rss))],
          [
            span('loop ', 'dim'),
            span(shortMs(eventLoopDelay.mean)),
            span(' max ', 'dim'),
            span(shortMs(eventLoopDelay.max), eventLoopDelay.max >= slowLoop ? 'warn' : 'plain'),
          ],
          [span('done ', 'dim'), span(formatCount(done))],
          ...(index === shown - 1 && alive.length > shown ? [[span(`and ${alive.length - shown} more`, 'dim')]] : []),
        ],
        width - labelWidth,
      ),
    ])
}
