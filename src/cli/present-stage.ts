import { formatCount, plural } from '../lib/format.ts'
import type { StagePreviewValue, StageStatisticsValue, StageValue } from '../operations/stages.ts'
import { placeInWindow } from '../lib/moment.ts'
import { drawChart, isWorthDrawing } from './chart.ts'
import type { Output } from './output.ts'

export function presentStage(stage: StageValue, output: Output): void {
  const { content, look } = stage
  output.pairs([
    ['id', stage.id],
    ['name', stage.name],
    ['active', describeActive(stage)],
    ['shown from', stage.from],
    ['shown until', stage.until],
    ['statistics', stage.statsEnabled ? 'on' : 'off'],
    ['retention', stage.retentionDays === 0 ? 'unlimited' : plural(stage.retentionDays, 'day')],
    ['frequency', stage.frequency],
    ['max views per session', stage.maxPerSession ?? 'unlimited'],
    ['sales channel', stage.salesChannelId ?? 'all'],
    ['page types', stage.pageTypes.join(', ') || 'all'],
    ['headline', content.headline || null],
    [content.html === null ? 'text' : 'html', content.html ?? content.text],
    [
      'button',
      content.callToAction === null
        ? null
        : `${content.callToAction.label} (${content.callToAction.action}: ${content.callToAction.url ?? content.callToAction.selector ?? '-'})`,
    ],
    ['dismiss button', content.dismissLabel],
    ['position', look.position],
    ['scheme', look.scheme],
    ['entrance', look.entrance],
    ['accent', look.accent],
    ['font', look.font],
    ['image', look.image],
    ['opens', describeTrigger(stage)],
    ['updated', stage.updatedAt],
  ])
}

function describeActive({ active, from, until }: StageValue): string {
  const place = placeInWindow(from, until, Date.now())
  if (!active || place === 'within') return active ? 'yes' : 'no'
  return place === 'before' ? 'yes, not yet shown' : 'yes, no longer shown'
}

function describeTrigger({ trigger: { delay, scroll, exitIntent } }: StageValue): string {
  const ways = [
    delay === null ? null : `after ${plural(delay, 'second')}`,
    scroll === null ? null : `at ${scroll} % of the page`,
    exitIntent ? 'when the pointer leaves the window' : null,
  ]
  return ways.filter((way) => way !== null).join(', or ') || 'at once'
}

export function presentPreview({ links, expiresAt }: StagePreviewValue, output: Output): void {
  for (const { url } of links) output.line(url)
  if (output.terminal) output.prose(`Views and clicks of these links are not counted. They work until ${expiresAt}.`)
}

const eventTypes = ['impression', 'cta_click', 'close', 'permanent_dismiss'] as const

/**
 * Prints totals and rates, then the series: as charts on a terminal, as rows in a pipe. Buckets that have not begun are left out: their
 * zeros were not measured. `now` in milliseconds since the epoch.
 */
export async function presentStageStatistics(
  value: StageStatisticsValue,
  output: Output,
  now = Date.now(),
): Promise<void> {
  const { totals, rates } = value
  const percent = (rate: number) => `${(rate * 100).toFixed(2)} %`
  output.prose(`${value.dateFrom} to ${value.dateTo} (UTC)`)
  output.line()
  await output.table(
    ['event', 'count', 'of impressions'],
    [
      ['impression', formatCount(totals.impression), '-'],
      ['cta_click', formatCount(totals.cta_click), percent(rates.ctr)],
      ['close', formatCount(totals.close), percent(rates.closeRate)],
      ['permanent_dismiss', formatCount(totals.permanent_dismiss), percent(rates.dismissRate)],
    ],
  )
  output.line()
  // The clock of a daemon may be ahead of this one: a bucket with events has begun.
  const begun = value.series.filter(
    (point) => Date.parse(point.date) <= now || eventTypes.some((type) => point[type] > 0),
  )
  if (output.terminal) return presentCharts({ ...value, series: begun }, output)
  await output.table(
    [value.bucket, ...eventTypes],
    begun.map((point) => [point.date, ...eventTypes.map((type) => point[type])]),
  )
}

function presentCharts(value: StageStatisticsValue, output: Output): void {
  const width = Math.min(output.columns, 120)
  for (const [type, height] of [
    ['impression', 8],
    ['cta_click', 4],
  ] as const) {
    const points = value.series.map((point) => ({
      label: value.bucket === 'hour' ? point.date.slice(0, 16).replace('T', ' ') : point.date,
      value: point[type],
    }))
    if (!isWorthDrawing(points)) continue
    output.prose(`${type} by ${value.bucket}`)
    for (const line of drawChart(points, { width, height })) output.line(line)
    output.line()
  }
}
