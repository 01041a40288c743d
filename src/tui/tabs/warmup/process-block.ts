import { formatCount } from '../../../lib/format.ts'
import { shortBytes, shortMs } from '../../text/amount.ts'
import { join, span, type Line } from '../../text/line.ts'
import { label, labelWidth } from '../../block.ts'
import type { Live } from './watched.ts'

const shown = 2

/** An event loop that was blocked for so long is worth a look (milliseconds). */
const slowLoop = 100

/** The processes that work on the run: memory, and how long their event loops were held up. */
export function processLines({ workers }: Live, width: number): Line[] {
  const alive = workers.filter((worker) => worker.alive)
  if (alive.length === 0) return [[label('process'), span('no process works on it', 'dim')]]
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
