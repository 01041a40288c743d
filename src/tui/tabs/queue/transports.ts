import { formatCount } from '../../../lib/format.ts'
import type { MessengerStatistics } from '../../../operations/messenger.ts'
import { block } from '../../block.ts'
import type { Block } from '../../panel.ts'
import { shortSpan } from '../../text/amount.ts'
import { join, span, type Line } from '../../text/line.ts'
import { padEnd, padStart } from '../../text/width.ts'

/** Messages that wait for so long have no worker, or too few (seconds). */
const longWait = 60

/** A line for each transport: how many wait, and for how long the first of them has. */
export function transportBlocks({ transports, workers }: MessengerStatistics): Block[] {
  return transports.map(({ name, count, waiting, delayed, held, oldestAge }, index) =>
    block(index, (width) => {
      if (name === 'failed')
        return [
          [
            span(padEnd(name, 11), 'dim'),
            span(padStart(formatCount(count), 9), count > 0 ? 'bad' : 'plain'),
            span(
              count > 0 ? '  failed for good; messenger:failed:retry puts them back' : '  nothing has failed for good',
              'dim',
            ),
          ],
        ]
      const worked = workers.some(({ transports: on, stopping }) => on.includes(name) && !stopping)
      const late = oldestAge !== null && oldestAge >= longWait
      const parts: Line[] = [
        [span(padStart(formatCount(waiting), 9), late ? 'warn' : 'strong'), span(' wait', 'dim')],
        ...(oldestAge === null
          ? []
          : [[span('the first for ', 'dim'), span(shortSpan(oldestAge), late ? 'warn' : 'plain')]]),
        ...(worked ? [] : [[span('no worker', count > 0 ? 'bad' : 'warn')]]),
        [span(padStart(formatCount(held), 4)), span(' in hand', 'dim')],
        [span(padStart(formatCount(delayed), 6)), span(' put off', 'dim')],
      ]
      return [[span(padEnd(name, 11), 'dim'), ...join(parts, width - 11)]]
    }),
  )
}
