import { formatCount, plural } from '../../../lib/format.ts'
import { block, label, labelWidth } from '../../block.ts'
import type { Block } from '../../panel.ts'
import { ago, shortMs, shortRate } from '../../text/amount.ts'
import { sparkline } from '../../text/chart.ts'
import { join, span, type Line } from '../../text/line.ts'
import {
  causes,
  pagesText,
  purgeRate,
  whoOf,
  type PurgeStatistics,
  type RecentInvalidations,
  type RecentPurges,
} from './values.ts'

const shownProxies = 4

/** Count, rate, hourly chart and duration of purges. */
export function rateBlock({ overview, hourly }: PurgeStatistics, recent: RecentPurges | null, time: number): Block {
  return block(0, (width) => {
    const counts = hourly.map(({ purges }) => purges)
    const figures: Line[] = [
      [span(recent === null ? '-' : `${shortRate(purgeRate(recent, time) * 60)}/min`, 'strong'), span(' now', 'dim')],
      [
        span(formatCount(overview.totalPurges), 'strong'),
        span(' in 24 h ', 'dim'),
        span(sparkline(counts, 24).trimStart(), 'accent'),
      ],
      [span(formatCount(overview.distinctUrls)), span(overview.distinctUrls === 1 ? ' URL' : ' URLs', 'dim')],
      [span(formatCount(overview.distinctTags)), span(overview.distinctTags === 1 ? ' tag' : ' tags', 'dim')],
      [span('duration ', 'dim'), span(shortMs(overview.avgResponseTime))],
    ]
    return [[label('purges'), ...join(figures, width - labelWidth)]]
  })
}

/** How far a search went. */
export function searchBlock({ total, limit, searchedTo }: RecentPurges): Block {
  return block(0, (width) => {
    const many = total >= limit ? `the latest ${formatCount(total)}` : formatCount(total)
    const far: Line[] = searchedTo
      ? [
          [span(`back to ${searchedTo.slice(0, 16).replace('T', ' ')} UTC`, 'warn')],
          [span('older ones: reverse-proxy:recent --search', 'dim')],
        ]
      : [[span(total >= limit ? '' : 'in the whole log', 'dim')]]
    return [[label('search'), ...join([[span(many, 'strong'), span(' found', 'dim')], ...far], width - labelWidth)]]
  })
}

/** Names the latest purge of everything, with its source and time, because it makes every visitor wait for the shop. */
export function everythingBlock({ items }: RecentInvalidations, time: number): Block {
  return block(1, (width) => {
    const all = items.filter(({ scope }) => scope === 'all')
    const latest = all[0]
    if (latest === undefined)
      return [
        [
          label('clears'),
          span(
            items.length === 0
              ? 'no invalidations'
              : `no full clear in the last ${formatCount(items.length)} invalidations`,
            'dim',
          ),
        ],
      ]
    const parts: Line[] = [
      [
        span(plural(all.length, 'full clear'), 'bad'),
        span(` in the last ${formatCount(items.length)} invalidations`, 'dim'),
      ],
      [
        span('latest ', 'dim'),
        span(`${ago(Date.parse(latest.at), time)}, ${whoOf(latest)}, ${pagesText(latest.pagesRemoved)}`, 'warn'),
      ],
    ]
    return [[label('clears'), ...join(parts, width - labelWidth)]]
  })
}

/** The sources of invalidations. */
export function whoBlock({ items }: RecentInvalidations): Block {
  return block(2, (width) => {
    const parts = causes(items).map(({ who, count, pages }): Line => [
      span(`${who} `),
      span(formatCount(count), 'strong'),
      span(` (${pagesText(pages)})`, 'dim'),
    ])
    return [[label('sources'), ...(parts.length === 0 ? [span('none', 'dim')] : join(parts, width - labelWidth))]]
  })
}

/** The backlog of each reverse proxy. */
export function proxyBlock({ proxies }: PurgeStatistics, time: number): Block {
  return block(1, (width) => {
    if (proxies.length === 0) return [[label('proxies'), span('none configured', 'dim')]]
    // Proxies with a backlog come first.
    const worst = proxies.toSorted((left, right) => right.failed + right.pending - left.failed - left.pending)
    const parts = worst
      .slice(0, shownProxies)
      .map(({ name, pending, oldestPending, failed }): Line => [
        span(`${name} `),
        pending === 0 ? span('up to date', 'good') : span(`${formatCount(pending)} behind`, 'warn'),
        ...(oldestPending === null
          ? []
          : [span(` since ${ago(Date.parse(oldestPending), time).replace(' ago', '')}`, 'warn')]),
        ...(failed === 0 ? [] : [span(` ${formatCount(failed)} undelivered`, 'bad')]),
      ])
    return [
      [
        label('proxies'),
        ...join(
          [
            ...parts,
            ...(proxies.length > shownProxies ? [[span(`and ${proxies.length - shownProxies} more`, 'dim')]] : []),
          ],
          width - labelWidth,
        ),
      ],
    ]
  })
}
