import { formatCount } from '../../../lib/format.ts'
import { bar } from '../../text/chart.ts'
import { lineWidth, span, type Line } from '../../text/line.ts'
import { shortSpan } from '../../text/amount.ts'
import { cells } from '../../text/width.ts'
import type { Live, Progress } from './watched.ts'

/** The first estimates of a run are guesses: an ETA is shown after this share of the URLs or this time. */
const etaFromPercent = 3
const etaFrom = 10_000

const shortestBar = 10

/** `████░░  61.38 %  73,680 of 120,000  ETA 10 min (9 to 13 min)`; the bar fills the remaining width. */
export function progressLine(progress: Progress, live: Live | null, width: number): Line {
  const done = progress.processed_urls + progress.failed_urls
  const percent = `${progress.percentage.toFixed(2).padStart(6)} %`
  const counts = `${formatCount(done)} of ${formatCount(progress.total_urls)}`
  const eta = etaText(progress, live)
  const figures =
    [
      [percent, counts, eta.long],
      [percent, counts, eta.short],
      [percent, counts],
    ]
      .map((parts) => parts.filter((part) => part !== '').join('   '))
      .find((text) => cells(text) + 2 + shortestBar <= width) ?? percent
  const text: Line = [span(`  ${figures}`, 'strong')]
  const { done: filled, open } = bar(progress.percentage, Math.max(shortestBar, width - lineWidth(text)))
  return [span(filled, progress.failed_urls > 0 ? 'warn' : 'good'), span(open, 'dim'), ...text]
}

function etaText(progress: Progress, live: Live | null): { long: string; short: string } {
  const eta = live?.eta ?? null
  const old = (live?.at ?? 0) - Date.parse(progress.created_at) >= etaFrom
  if (progress.status !== 'running' || eta === null || progress.remaining_urls === 0) return { long: '', short: '' }
  if (progress.percentage < etaFromPercent && !old) return { long: '', short: '' }
  const short = `ETA ${shortSpan(eta.seconds)}`
  return { short, long: eta.high > eta.low ? `${short} (${range(eta.low, eta.high)})` : short }
}

/** `9–13 min` if both have the same unit, otherwise `50 s – 2 min`. */
function range(low: number, high: number): string {
  const [from, to] = [shortSpan(low), shortSpan(high)]
  const [, fromUnit] = from.split(' ')
  const simple = from.split(' ').length === 2 && to.split(' ').length === 2
  if (from === to) return `about ${to}`
  return simple && to.endsWith(` ${fromUnit}`) ? `${from.split(' ')[0]}–${to}` : `${from} – ${to}`
}

/** Progress in one line without a bar, for small terminals. */
export function shortProgress(progress: Progress, live: Live | null): string {
  const done = progress.processed_urls + progress.failed_urls
  const parts = [
    progress.status,
    `${progress.percentage.toFixed(2)} %`,
    `${formatCount(done)}/${formatCount(progress.total_urls)}`,
    live ? `${Math.round(live.rate.now)}/s` : '',
    etaText(progress, live).short,
    progress.failed_urls > 0 ? `${formatCount(progress.failed_urls)} failed` : '',
  ]
  return parts.filter((part) => part !== '').join('  ')
}
