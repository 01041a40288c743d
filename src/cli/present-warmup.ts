import { formatCount, formatDuration, plural } from '../lib/format.ts'
import { leftOutText } from '../operations/left-out.ts'
import { durationOf } from '../operations/warmup-duration.ts'
import type { Started } from '../operations/warmup-start.ts'
import type { WarmupReport } from './warmup-report.ts'
import { Output, type Cell } from './output.ts'

/** Sample sizes of lists on a terminal. */
const maxPlannedUrls = 20
const maxSitemapErrors = 10

/** Prints what warmup:start did: the plan of a dry run, the id of a started run, or the report of a run it waited for. */
export function presentStartedWarmup(
  { started, report }: { started: Started; report: WarmupReport | null },
  { json }: { json: boolean },
): void {
  if (report === null) {
    if (!json) presentStarted(started, new Output())
  } else if (json) {
    // The JSON value has no field for it.
    presentDiscovery(report.discovery, new Output(process.stderr))
  } else {
    presentReport(report, new Output())
  }
}

function presentStarted(started: Started, output: Output): void {
  if (started.progressId === null) return presentPlan(started, output)
  output.prose(`Warmup ${started.progressId}: ${plural(started.totalUrls, 'URL')}.`)
  if (started.totalUrls > 0) output.prose('Follow it with: pagecache warmup:progress or pagecache warmup:watch')
}

function presentReport(report: WarmupReport, output: Output): void {
  const { progress, discovery, reasons, failures } = report
  const { id, status, failed_urls } = progress
  output.pairs(toPairs(report))
  presentSitemapErrors(discovery.errors, output)
  if (reasons.length > 0) output.line('Failures:')
  for (const { error, count, remedy } of reasons) {
    output.line(`  ${formatCount(count)} × ${error}`)
    if (remedy !== null) output.line(`      ${remedy}`)
  }
  for (const { url, error } of failures) output.line(`  ${url} ${error}`)
  if (failures.length > 0 && failures.length < failed_urls)
    output.prose(`  ... and ${formatCount(failed_urls - failures.length)} more.`)
  if (status === 'running') output.prose(`It continues. Watch it with: pagecache warmup:watch ${id}`)
  if (status === 'paused') output.prose(`Resume it with: pagecache warmup:resume ${id}`)
}

function toPairs({ progress, discovery }: WarmupReport): (readonly [string, Cell])[] {
  const { total_urls, processed_urls, skipped_urls, failed_urls, remaining_urls, status } = progress
  const seconds = durationOf(progress)
  const rate = seconds > 0 ? ` (${((processed_urls + failed_urls) / seconds).toFixed(1)} pages/s)` : ''
  const leftOut = leftOutText(discovery)
  return [
    ['Warmup', `${status}, ${progress.id}`],
    ['URLs', formatCount(total_urls)],
    ['Fetched', formatCount(processed_urls - skipped_urls)],
    ['Already fresh', formatCount(skipped_urls)],
    ['Failed', formatCount(failed_urls)],
    ...(remaining_urls > 0 ? [['Remaining', formatCount(remaining_urls)] as const] : []),
    ['Time', formatDuration(seconds) + rate],
    ...(leftOut === '' ? [] : [['Left out', leftOut] as const]),
  ]
}

function presentPlan({ totalUrls, fresh = 0, urls = [], discovery }: Started, output: Output): void {
  output.prose(`${plural(totalUrls, 'URL')} would be fetched.`)
  const shown = urls.slice(0, maxPlannedUrls)
  for (const url of shown) output.line(`  ${url}`)
  if (shown.length < totalUrls) output.prose(`  ... and ${formatCount(totalUrls - shown.length)} more.`)
  if (fresh > 0) output.prose(`Already fresh: ${formatCount(fresh)}.`)
  if (discovery) presentDiscovery(discovery, output)
}

function presentDiscovery(discovery: WarmupReport['discovery'], output: Output): void {
  const leftOut = leftOutText(discovery)
  if (leftOut !== '') output.prose(`Left out: ${leftOut}.`)
  presentSitemapErrors(discovery.errors, output)
}

function presentSitemapErrors(errors: WarmupReport['discovery']['errors'], output: Output): void {
  if (errors.length > 0) output.prose('Sitemaps that could not be read completely:')
  for (const { url, message } of errors.slice(0, maxSitemapErrors)) output.line(`  ${url} ${message}`)
  if (errors.length > maxSitemapErrors) output.prose(`  ... and ${formatCount(errors.length - maxSitemapErrors)} more.`)
}
