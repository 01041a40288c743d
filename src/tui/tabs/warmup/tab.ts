import type { listWarmupFailures } from '../../../operations/warmup.ts'
import type { watchWarmup } from '../../../operations/warmup-watch.ts'
import { block, emptyView, gap } from '../../block.ts'
import type { TabView } from '../../panel.ts'
import { staleness } from '../../stale.ts'
import { planFeed } from '../../feed.ts'
import { defineTab } from '../../tab.ts'
import { shortSpan } from '../../text/amount.ts'
import type { Asked } from '../../view.ts'
import { hasCharts, warmupCharts } from './charts-block.ts'
import { latencyLine, originLines, rateLine, reasonLine, resultLine } from './figures-block.ts'
import { failuresOf, failuresPanel, slotsPanel, slowestPanel, type Failure } from './lists.ts'
import { processLines } from './process-block.ts'
import { progressLine, shortProgress } from './progress-block.ts'
import { remark, stateLine } from './state-block.ts'
import { Seating, type Seats } from './seats.ts'
import { silence, type Live, type Progress, type Watched } from './watched.ts'

/** Poll interval, in milliseconds. */
const every = 250
/** Failures shown on screen; warmup:failures lists all of them. */
const listedFailures = 500

/** One live run: the latest one when `id` is null. */
export function warmupTab(id: string | null) {
  const named = id === null ? {} : { progressId: id }
  const seating = new Seating()
  return defineTab({
    id: 'warmup',
    title: 'Warmup',
    plans: {
      warmup: planFeed<typeof watchWarmup>('warmup.watch', named, every),
      failures: planFeed<typeof listWarmupFailures>('warmup.failures', { ...named, limit: listedFailures }, 2000),
    },
    view({ feeds, values: { warmup: watched, failures }, asked, now }) {
      const stale = staleness(feeds['warmup'], now)
      if (watched === null) return emptyView('Loading warmup …', stale)
      const { progress, live } = watched
      if (progress === null || live === null)
        return emptyView(
          id === null ? 'No warmup yet. Start one: pagecache warmup:start' : `Unknown warmup ${id}.`,
          stale,
        )
      return toView(
        { ...watched, progress, live },
        { seats: seating.of(live), failures: failuresOf({ progress, live }, failures) },
        asked,
        stale,
      )
    },
  })
}

function toView(
  watched: Watched & { progress: Progress; live: Live },
  lists: { seats: Seats; failures: readonly Failure[] },
  asked: Asked | null,
  stale: string | null,
): TabView {
  const { progress, live } = watched
  const silent = silence(watched)
  const told = remark(watched)
  return {
    blocks: [
      block(0, (width) => [stateLine(watched, asked, width)]),
      block(0, (width) => [progressLine(progress, live, width)]),
      ...(told ? [block(1, () => [told])] : []),
      gap,
      block(1, (width, rows) => [rateLine(live, width, hasCharts(width, rows))]),
      block(2, (width, rows) => [latencyLine(live, width, hasCharts(width, rows))]),
      block(4, (width, rows) => warmupCharts(live, width, rows)),
      block(1, (width) => [resultLine(live, progress, width)]),
      block(2, (width) => [reasonLine(live, progress, width)]),
      block(3, (width) => originLines(live, width)),
      block(4, (width) => processLines(live, width)),
      gap,
    ],
    panels: [
      slotsPanel(live, lists.seats),
      slowestPanel(live),
      failuresPanel(lists.failures, progress.failed_urls, live.at),
    ],
    stale: stale ?? (silent === null ? null : `STALE ${shortSpan(silent / 1000)}: no worker`),
    run: { id: progress.id, status: progress.status },
    short: shortProgress(progress, live),
  }
}
