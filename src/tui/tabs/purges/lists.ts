import { formatCount, plural } from '../../../lib/format.ts'
import { known, moment } from '../../facts.ts'
import type { Panel, Row } from '../../panel.ts'
import { share, shortMs, timeOfDay } from '../../text/amount.ts'
import { bar } from '../../text/chart.ts'
import { span, type Line, type Span } from '../../text/line.ts'
import { cells, cutMiddle, cutUrl, padEnd, padStart } from '../../text/width.ts'
import {
  pagesText,
  whoOf,
  type Invalidation,
  type PurgeItem,
  type PurgeStatistics,
  type RecentInvalidations,
  type RecentPurges,
} from './values.ts'

/** Formats the key of a purge. */
function keyOf({ kind, type, value, url, tag, entityType, entityId }: PurgeItem): string {
  const named = url ?? tag ?? type ?? (entityType === null ? null : `${entityType} ${entityId}`)
  return named ?? (kind === 'all' ? `everything${value ? ` (${value})` : ''}` : '')
}

/** Whether every reverse proxy has acknowledged the purge. */
function deliverySpan(proxies: PurgeItem['proxies']): Span {
  const failed = proxies.filter(({ status }) => status === 'failed').length
  const pending = proxies.filter(({ status }) => status === 'pending').length
  if (failed > 0) return span(`${failed} failed`, 'bad')
  if (pending > 0) return span(`${pending} pending`, 'warn')
  return proxies.length === 0 ? span('') : span('delivered', 'good')
}

/** The live tail of purges, newest first. */
export function purgesPanel(
  { items, total }: RecentPurges,
  invalidations: readonly Invalidation[],
  time: number,
): Panel {
  const delivered = items.some(({ proxies }) => proxies.length > 0)
  const asked = new Map(invalidations.map((invalidation) => [invalidation.id, invalidation]))
  const rows = items.map((item) =>
    purgeRow(item, { cause: whoOf(asked.get(item.invalidationId) ?? item), delivered, time }),
  )
  const head = (width: number) => {
    const { who, pages, key } = purgeColumns(width, delivered)
    const names = [padEnd('time', 9), padEnd('kind', 7), padEnd('what', key), padStart('pages', pages), '  ']
    return [span(`${names.join('')}${padEnd('cause', who)}${delivered ? 'delivery' : ''}`)]
  }
  return { id: 'purges', title: 'Purges', total, rows, head, empty: 'Nothing was purged yet.' }
}

function purgeRow(
  item: PurgeItem,
  { cause, delivered, time }: { cause: string; delivered: boolean; time: number },
): Row {
  const { id, createdAt, kind, mode, pagesRemoved, proxies, unconfirmed } = item
  const what = keyOf(item)
  const bad = kind === 'all' || unconfirmed.length > 0 || proxies.some(({ status }) => status === 'failed')
  const line = (width: number): Line => {
    const { roomy, who, pages, key } = purgeColumns(width, delivered)
    return [
      span(timeOfDay(Date.parse(createdAt)), 'dim'),
      span(' '),
      span(padEnd(kind, 7), kind === 'all' ? 'bad' : 'plain'),
      span(fill(cutUrl(what, key), key), kind === 'all' ? 'bad' : 'plain'),
      span(
        padStart(
          roomy ? amountText(pagesRemoved, mode) : `${formatCount(pagesRemoved)}${mode === 'hard' ? '' : '~'}`,
          pages,
        ),
        unconfirmed.length > 0 ? 'warn' : pagesRemoved === 0 ? 'dim' : 'plain',
      ),
      span('  '),
      ...(who === 0 ? [] : [span(`${padEnd(cause, who - 1)} `, 'dim')]),
      deliverySpan(proxies),
    ]
  }
  return {
    id,
    line,
    text: `${kind} ${mode} ${what} ${cause} ${proxies.map(({ name, status }) => `${name} ${status}`).join(' ')} ${unconfirmed.join(' ')}`,
    status: null,
    ms: null,
    bad,
    detail: purgeDetail(item, cause, time),
  }
}

function amountText(pagesRemoved: number, mode: PurgeItem['mode']): string {
  return mode === 'hard' ? pagesText(pagesRemoved) : `${formatCount(pagesRemoved)} stale`
}

/**
 * Cells of the columns of purges. `delivered`: whether there are reverse proxies. On a narrow terminal a URL needs the room of its cause,
 * which the details show too.
 */
function purgeColumns(width: number, delivered: boolean) {
  const roomy = width >= 90
  const [pages, told] = [roomy ? 12 : 6, delivered ? (roomy ? 12 : 10) : 0]
  const [wide, usual, narrow] = delivered ? [22, 13, 0] : [32, 24, 13]
  const who = roomy ? wide : width >= 70 ? usual : narrow
  return { roomy, who, pages, key: Math.max(1, width - 8 - 1 - 7 - pages - 2 - who - told) }
}

function fill(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - cells(text)))
}

const modeTexts: Readonly<Record<PurgeItem['mode'], string>> = {
  hard: 'removed',
  soft: 'stale',
  softened: 'stale, because the tag is on more pages than purge.softAbove',
}

function purgeDetail(item: PurgeItem, who: string, time: number): Row['detail'] {
  const {
    createdAt,
    kind,
    type,
    value,
    url,
    tag,
    entityType,
    entityId,
    entityNumber,
    invalidationId,
    mode,
    pagesRemoved,
    responseTime,
    proxies,
    unconfirmed,
  } = item
  const facts = known([
    ['At', moment(createdAt, time)],
    ['Kind', kind],
    ['Page type', type],
    ['Cleared', value],
    ['Tag', tag],
    [
      'Entity',
      entityType === null
        ? null
        : `${entityType} ${entityId}${entityNumber === null ? '' : `, number ${entityNumber}`}`,
    ],
    ['Because of', `${who}, invalidation ${invalidationId}`],
    ['Pages', `${formatCount(pagesRemoved)} ${modeTexts[mode]}`],
    ['Took', responseTime === null ? null : shortMs(responseTime)],
    ['Unconfirmed', unconfirmed.join(', ')],
    ...proxies.map(
      ({ name, status, attempts, responseTime: took, error }) =>
        [
          name,
          [
            status,
            plural(attempts, 'attempt'),
            ...(took === null ? [] : [shortMs(took)]),
            ...(error === null ? [] : [error]),
          ].join(', '),
        ] as const,
    ),
  ])
  return { title: 'Purge', url, facts, copied: keyOf(item) }
}

/** The most frequent keys of the last 24 hours, which show excessive purging. */
export function tagsPanel({ topTags, overview }: PurgeStatistics): Panel {
  const most = Math.max(1, ...topTags.map(({ count }) => count))
  const rows = topTags.map(({ tag, count }): Row => {
    const line = (width: number): Line => {
      const chart = tagChart(width)
      return [
        span(padStart(formatCount(count), 8), 'strong'),
        span(padStart(share(count, overview.totalPurges), 7), 'dim'),
        span('  '),
        ...(chart === 0 ? [] : [span(padEnd(bar((count * 100) / most, chart).done, chart + 2), 'accent')]),
        span(cutMiddle(tag, Math.max(1, width - 19 - chart))),
      ]
    }
    const facts = [
      ['Purges in 24 h', formatCount(count)],
      ['Of all', share(count, overview.totalPurges)],
      ['Tagged pages', `pagecache cache:list --tag ${tag}`],
    ] as const
    return {
      id: tag,
      line,
      text: tag,
      status: null,
      ms: null,
      bad: false,
      detail: { title: `Tag ${tag}`, url: null, facts },
    }
  })
  const head = (width: number) => [
    span(`${padStart('purges', 8)}${padStart('share', 7)}  ${' '.repeat(tagChart(width) && tagChart(width) + 2)}tag`),
  ]
  return { id: 'tags', title: 'Top tags, 24 h', total: null, rows, head, empty: 'No tag was purged in 24 hours.' }
}

/** Cells of the bar of a tag. */
function tagChart(width: number): number {
  return width >= 50 ? 12 : 0
}

/** The invalidations behind the purges, newest first. */
export function invalidationsPanel({ items, total }: RecentInvalidations, time: number): Panel {
  const rows = items.map((item) => invalidationRow(item, time))
  const head = (width: number) => {
    const { roomy, wide } = causeColumns(width)
    const names = [padEnd('time', 9), padEnd('source', wide), padEnd('scope', 8), padStart('pages', 7)]
    return [span(`${names.join('')}${' '.repeat(roomy ? 8 : 2)}what`)]
  }
  return { id: 'invalidations', title: 'Causes', total, rows, head, empty: 'Nothing was invalidated yet.' }
}

function invalidationRow(item: Invalidation, time: number): Row {
  const { id, at, scope, value, pagesRemoved, unconfirmed } = item
  const line = (width: number): Line => {
    const { roomy, wide } = causeColumns(width)
    return [
      span(timeOfDay(Date.parse(at)), 'dim'),
      span(' '),
      span(`${padEnd(whoOf(item), wide - 1)} `),
      span(`${padEnd(scope, 7)} `, scope === 'all' ? 'bad' : 'plain'),
      span(padStart(formatCount(pagesRemoved), 7), unconfirmed.length > 0 ? 'warn' : 'plain'),
      span(roomy ? (pagesRemoved === 1 ? ' page   ' : ' pages  ') : '  ', 'dim'),
      span(cutUrl(value ?? '', Math.max(1, width - wide - (roomy ? 32 : 26)))),
    ]
  }
  const facts = known([
    ['At', moment(at, time)],
    ['Who', whoOf(item)],
    ['Scope', scope],
    ['What', value],
    ['Pages', formatCount(pagesRemoved)],
    ['Unconfirmed', unconfirmed.join(', ')],
    ['Id', id],
  ])
  return {
    id,
    line,
    text: `${whoOf(item)} ${scope} ${value ?? ''}`,
    status: null,
    ms: null,
    bad: scope === 'all' || unconfirmed.length > 0,
    detail: { title: 'Invalidation', url: null, facts },
  }
}

/** Cells of the columns of invalidations. */
function causeColumns(width: number) {
  const roomy = width >= 70
  return { roomy, wide: roomy ? 20 : 13 }
}
