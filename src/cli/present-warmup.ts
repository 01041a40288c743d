import { formatCount } from '../lib/format-count.ts'
import { formatDuration } from '../lib/format-duration.ts'
import { plural } from '../lib/plural.ts'
import { leftOutText } from '../operations/left-out.ts'
import type { Started } from '../operations/warmup-start.ts'
import type { WarmupReport } from '../workers/warmup-wait.ts'
import type { Cell, Output } from './output.ts'

/** How a run went, when it has ended. */
export function presentWarmup({ progress, discovery, reasons, failures }: WarmupReport, output: Output): void {
  const { total_urls, processed_urls, skipped_urls, failed_urls, remaining_urls, status } = progress
  const seconds = (Date.parse(progress.finished_at ?? progress.updated_at) - Date.parse(progress.created_at)) / 1000
  const rate = seconds > 0 ? ` (${((processed_urls + failed_urls) / seconds).toFixed(1)} pages/s)` : ''
  const pairs: (readonly [string, Cell])[] = [
    ['Warmup', `${status}, ${progress.id}`],
    ['URLs', formatCount(total_urls)],
    ['Warmed', formatCount(processed_urls - skipped_urls)],
    ['Already fresh', formatCount(skipped_urls)],
    ['Failed', formatCount(failed_urls)],
  ]
  if (remaining_urls > 0) pairs.push(['Not done', formatCount(remaining_urls)])
  pairs.push(['Time', formatDuration(seconds) + rate])
  const out = leftOutText(discovery)
  if (out !== '') pairs.push(['Left out', out])
  output.pairs(pairs)
  presentErrors(discovery.errors, output)
  if (reasons.length > 0) output.line('Why pages failed:')
  for (const { error, count } of reasons) output.line(`  ${formatCount(count)} × ${error}`)
  for (const { url, error } of failures) output.line(`  ${url} ${error}`)
  if (failures.length > 0 && failures.length < failed_urls)
    output.line(`  ... and ${formatCount(failed_urls - failures.length)} more.`)
}

/** URLs of a plan that a terminal shows. */
const shownUrls = 20

/** What a run would fetch. */
export function presentPlan({ totalUrls, fresh = 0, urls = [], discovery }: Started, output: Output): void {
  output.line(`${plural(totalUrls, 'URL')} would be fetched.`)
  const shown = urls.slice(0, shownUrls)
  for (const url of shown) output.line(`  ${url}`)
  if (shown.length < totalUrls) output.line(`  ... and ${formatCount(totalUrls - shown.length)} more.`)
  if (fresh > 0) output.line(`Already fresh: ${formatCount(fresh)}.`)
  if (discovery) presentDiscovery(discovery, output)
}

/** What discovery left out and could not read, where the value of a run has no room for it. */
export function presentDiscovery(discovery: WarmupReport['discovery'], output: Output): void {
  const out = leftOutText(discovery)
  if (out !== '') output.line(`Left out: ${out}.`)
  presentErrors(discovery.errors, output)
}

function presentErrors(errors: WarmupReport['discovery']['errors'], output: Output): void {
  if (errors.length > 0) output.line('Sitemaps that could not be read to their end:')
  for (const { url, message } of errors.slice(0, 10)) output.line(`  ${url} ${message}`)
  if (errors.length > 10) output.line(`  ... and ${formatCount(errors.length - 10)} more.`)
}
