import { formatCount } from '../../../lib/format.ts'
import type { MessengerStatistics } from '../../../operations/messenger.ts'
import { block } from '../../block.ts'
import type { Block } from '../../panel.ts'
import { shortSpan } from '../../text/amount.ts'
import { join, span, type Line } from '../../text/line.ts'
import { padEnd, padStart } from '../../text/width.ts'

/** Waiting time in seconds from which there are too few workers. */
const longWait = 60

/** A line per transport: waiting messages, and the age of the oldest. */
export function transportBlocks({ transports, workers }: MessengerStatistics): Block[] {
  return transports.map(({ name, count, waiting, delayed, held, oldestAge }, index) =>
    block(index, (width) => {
      if (name === 'failed')
        return [
          [
            span(padEnd(name, 11), 'dim'),
            span(padStart(formatCount(count), 9), count > 0 ? 'bad' : 'plain'),
            span(count > 0 ? '  failed permanently; retry with messenger:failed:retry' : '  no failed messages', 'dim'),
          ],
        ]
      const worked = workers.some(({ transports: on, stopping }) => on.includes(name) && !stopping)
      const late = oldestAge !== null && oldestAge >= longWait
      const parts: Line[] = [
        [span(padStart(formatCount(waiting), 9), late ? 'warn' : 'strong'), span(' waiting', 'dim')],
        ...(oldestAge === null ? [] : [[span('oldest ', 'dim'), span(shortSpan(oldestAge), late ? 'warn' : 'plain')]]),
        ...(worked ? [] : [[span('no worker', count > 0 ? 'bad' : 'warn')]]),
        [span(padStart(formatCount(held), 4)), span(' in progress', 'dim')],
        [span(padStart(formatCount(delayed), 6)), span(' delayed', 'dim')],
      ]
      return [[span(padEnd(name, 11), 'dim'), ...join(parts, width - 11)]]
    }),
  )
}
