import { formatCount } from '../../../lib/format.ts'
import type { Statistics } from '../../../operations/cache.ts'
import { block, label, labelWidth } from '../../block.ts'
import type { Block, Panel, Row } from '../../panel.ts'
import { bar } from '../../text/chart.ts'
import { share, shortBytes, shortMs } from '../../text/amount.ts'
import { join, span, type Line } from '../../text/line.ts'
import { padEnd, padStart } from '../../text/width.ts'

/** Average times are 0 where nothing was measured. */
function time(seconds: number): string {
  return shortMs(seconds > 0 ? seconds * 1000 : null)
}

export function cacheBlocks({ totalFiles, totalSize, aggregated }: Statistics): Block[] {
  const { totalOriginalSize, totalSpaceSaved, avgGenerationTime, avgCacheHitTime, compressionEnabled } = aggregated
  return [
    block(0, (width) => [
      [
        label('cache'),
        ...join(
          [
            [span(`${formatCount(totalFiles)} pages`, 'strong')],
            [span('on disk ', 'dim'), span(shortBytes(totalSize))],
            [
              span('of ', 'dim'),
              span(shortBytes(totalOriginalSize)),
              span(`, ${share(totalSpaceSaved, totalOriginalSize)} saved`, 'dim'),
            ],
            [span('compression ', 'dim'), span(compressionEnabled ? 'on' : 'off')],
          ],
          width - labelWidth,
        ),
      ],
    ]),
    block(2, (width) => [
      [
        label('times'),
        ...join(
          [
            [span('generated in ', 'dim'), span(time(avgGenerationTime))],
            [span('served from the cache in ', 'dim'), span(time(avgCacheHitTime), 'good')],
          ],
          width - labelWidth,
        ),
      ],
    ]),
  ]
}

export function typesPanel({ byType, byTypeDetailed, totalFiles }: Statistics): Panel {
  const rows = Object.entries(byType).map(([type, count]): Row => {
    const detail = Object.entries(byTypeDetailed).find(([name]) => type.startsWith(name.replace(/y$/, '')))?.[1]
    const line = (width: number): Line => {
      const figures: Line = [
        span(padEnd(type, 12)),
        span(padStart(formatCount(count), 11), 'strong'),
        span(padStart(share(count, totalFiles), 7), 'dim'),
        span(padStart(time(detail?.avgGenerationTime ?? 0), 10)),
        span(padStart(time(detail?.avgCacheHitTime ?? 0), 11)),
      ]
      const room = width - 53
      if (room < 8) return figures
      const { done } = bar(totalFiles > 0 ? (count * 100) / totalFiles : 0, Math.min(room, 40))
      return [...figures, span('  '), span(done, 'accent')]
    }
    const facts = [
      ['Pages', formatCount(count)],
      ['Space saved', shortBytes(detail?.spaceSaved ?? 0)],
      ['Made in', time(detail?.avgGenerationTime ?? 0)],
      ['Served in', time(detail?.avgCacheHitTime ?? 0)],
    ] as const
    return {
      id: type,
      line,
      text: type,
      status: null,
      ms: null,
      bad: false,
      detail: { title: `Pages of type ${type}`, url: null, facts },
    }
  })
  const names = ['pages', 'share', 'made in', 'served in'].map((name, index) => padStart(name, [11, 7, 10, 11][index]!))
  const head = () => [span(padEnd('type', 12) + names.join(''))]
  return { id: 'types', title: 'Pages by type', total: null, rows, head, empty: 'The cache is empty.' }
}
