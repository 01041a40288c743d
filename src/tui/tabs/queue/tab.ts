import { formatCount, plural } from '../../../lib/format.ts'
import type { listFailedMessages, messengerStatistics, MessengerStatistics } from '../../../operations/messenger.ts'
import { emptyView, gap } from '../../block.ts'
import { stalest } from '../../stale.ts'
import { planFeed } from '../../feed.ts'
import { defineTab } from '../../tab.ts'
import { failedPanel, workersPanel } from './lists.ts'
import { transportBlocks } from './transports.ts'

export const queuePlan = planFeed<typeof messengerStatistics>('messenger.stats', {}, 1000)

/** The queue: waiting messages, workers, failed messages. */
export const queueTab = defineTab({
  id: 'queue',
  title: 'Queue',
  plans: { queue: queuePlan, failed: planFeed<typeof listFailedMessages>('messenger.failed', { limit: 100 }, 2000) },
  view({ feeds, values: { queue, failed }, now, time }) {
    const stale = stalest([feeds['queue'], feeds['failed']], now)
    if (queue === null) return emptyView('Loading queue …', stale)
    return {
      blocks: [...transportBlocks(queue), gap],
      panels: [workersPanel(queue, time), ...(failed ? [failedPanel(failed, time)] : [])],
      lead: true,
      stale,
      run: null,
      short: queueInShort(queue),
    }
  },
})

/** `12 waiting, 4 in progress, 0 failed, 2 workers`. */
export function queueInShort({ transports, workers, failed }: MessengerStatistics): string {
  const sum = (field: 'waiting' | 'held') =>
    formatCount(
      transports.filter(({ name }) => name !== 'failed').reduce((total, transport) => total + transport[field], 0),
    )
  return `${sum('waiting')} waiting, ${sum('held')} in progress, ${formatCount(failed)} failed, ${plural(workers.length, 'worker')}`
}
