import { formatCount, plural } from '../lib/format.ts'
import type { StageStatisticsValue, StageValue } from '../operations/stages.ts'
import { drawChart } from './chart.ts'
import type { Output } from './output.ts'

export function presentStage(stage: StageValue, output: Output): void {
  const { content } = stage
  output.pairs([
    ['id', stage.id],
    ['name', stage.name],
    ['active', stage.active ? 'yes' : 'no'],
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
    ['updated', stage.updatedAt],
  ])
}

/** Prints totals and rates, then the series: as charts on a terminal, as rows in a pipe. */
export async function presentStageStatistics(value: StageStatisticsValue, output: Output): Promise<void> {
  const { totals, rates } = value
  const percent = (rate: number) => `${(rate * 100).toFixed(2)} %`
  output.line(`${value.dateFrom} to ${value.dateTo} (UTC)`)
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
  if (!output.terminal) {
    const rows = value.series.map((point) => [
      point.date,
      point.impression,
      point.cta_click,
      point.close,
      point.permanent_dismiss,
    ])
    await output.table([value.bucket, 'impression', 'cta_click', 'close', 'permanent_dismiss'], rows)
    return
  }
  const width = Math.min(output.columns, 120)
  for (const [type, height] of [
    ['impression', 8],
    ['cta_click', 4],
  ] as const) {
    output.line(`${type} by ${value.bucket}`)
    const points = value.series.map((point) => ({
      label: value.bucket === 'hour' ? point.date.slice(0, 16).replace('T', ' ') : point.date,
      value: point[type],
    }))
    for (const line of drawChart(points, { width, height })) output.line(line)
    output.line()
  }
}
