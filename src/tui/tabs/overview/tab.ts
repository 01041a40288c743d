import { plural } from '../../../lib/format.ts'
import type { cacheStatistics } from '../../../operations/cache.ts'
import type { listNodes } from '../../../operations/cluster.ts'
import type { readStatus } from '../../../operations/status.ts'
import type { readTraffic } from '../../../operations/traffic.ts'
import type { watchWarmup } from '../../../operations/warmup-watch.ts'
import { block, gap, label, labelWidth } from '../../block.ts'
import type { Block } from '../../panel.ts'
import { purgePlan, purgesInShort } from '../purges/tab.ts'
import { queueInShort, queuePlan } from '../queue/tab.ts'
import { stalest } from '../../stale.ts'
import { taskPlan, tasksInShort } from '../tasks/tab.ts'
import { planFeed } from '../../feed.ts'
import { defineTab } from '../../tab.ts'
import { span } from '../../text/line.ts'
import { cut } from '../../text/width.ts'
import { shortProgress } from '../warmup/progress-block.ts'
import { stateSpan } from '../warmup/state-block.ts'
import type { Watched } from '../warmup/watched.ts'
import { daemonBlock } from './daemon.ts'
import { cacheBlocks, typesPanel } from './cache.ts'
import { nodeBlocks, nodesPanel } from './nodes.ts'
import { missesPanel, visitorBlocks } from './visitors.ts'

/** The daemon, its visitors, the cache, and one line for each other tab. */
export const overviewTab = defineTab({
  id: 'overview',
  title: 'Overview',
  plans: {
    status: planFeed<typeof readStatus>('status', {}, 2000),
    hour: planFeed<typeof readTraffic>('traffic.read', { last: '1h' }, 2000),
    day: planFeed<typeof readTraffic>('traffic.read', { last: '24h' }, 2000),
    cache: planFeed<typeof cacheStatistics>('cache.stats', {}, 1000),
    warmup: planFeed<typeof watchWarmup>('warmup.watch', {}, 1000),
    purges: purgePlan,
    queue: queuePlan,
    tasks: taskPlan,
    nodes: planFeed<typeof listNodes>('cluster.nodes', { limit: 1000 }, 1000),
  },
  view({ feeds, values, now, time }) {
    const { status, hour, day, cache, warmup, purges, queue, tasks, nodes } = values
    return {
      blocks: [
        status ? daemonBlock(status, time) : waiting('daemon'),
        ...(hour && day ? visitorBlocks(hour, day) : [waiting('visitors')]),
        ...(cache ? cacheBlocks(cache) : [waiting('cache')]),
        warmup ? warmupBlock(warmup) : waiting('warmup'),
        purges ? lineBlock('purges', purgesInShort(purges)) : waiting('purges'),
        queue ? lineBlock('queue', queueInShort(queue)) : waiting('queue'),
        tasks ? lineBlock('tasks', tasksInShort(tasks)) : waiting('tasks'),
        ...(nodes ? nodeBlocks(nodes) : []),
        gap,
      ],
      panels: [
        ...(cache ? [typesPanel(cache)] : []),
        ...(hour ? [missesPanel(hour)] : []),
        ...(nodes?.clustered ? [nodesPanel(nodes, time)] : []),
      ],
      stale: stalest(
        Object.keys(values).map((name) => feeds[name]),
        now,
      ),
      run: null,
      short: cache ? `${plural(cache.totalFiles, 'page')}, ${cache.totalSizeFormatted}` : 'loading …',
    }
  },
})

function lineBlock(name: string, text: string): Block {
  return block(1, (width) => [[label(name), span(cut(text, width - labelWidth))]])
}

function waiting(name: string): Block {
  return block(1, () => [[label(name), span('loading …', 'dim')]])
}

function warmupBlock({ progress, live }: Watched): Block {
  return block(1, (width) => {
    if (progress === null) return [[label('warmup'), span('none yet', 'dim')]]
    const state = stateSpan(progress.status)
    const rest = shortProgress(progress, live).slice(progress.status.length)
    return [[label('warmup'), state, span(cut(rest, width - labelWidth - state.text.length))]]
  })
}
