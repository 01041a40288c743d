import cliTruncate from 'cli-truncate'
import { allowsColor, isContinuousIntegration } from '../config/environment.ts'
import { formatCount, formatDuration, plural } from '../lib/format.ts'
import { printable } from '../lib/safe-text.ts'
import type { WarmupProgressRecord } from '../operations/warmup.ts'
import { cells } from './cells.ts'

/** Progress of a counted operation, such as a warmup. */
interface Advance {
  done: number
  total: number
  /** 0 to 100. */
  percentage: number
  perSecond: number
  etaSeconds: number | null
  failed: number
  /** A paused operation shows no rate and no ETA. */
  paused?: boolean
}

/** A text while the total is still unknown, then counts. */
export type ProgressUpdate = { kind: 'text'; text: string } | ({ kind: 'advance' } & Advance)

/** Converts a warmup record to progress. */
export function toAdvance(progress: WarmupProgressRecord): ProgressUpdate {
  const { status, processed_urls, failed_urls, total_urls, percentage, urls_per_second, eta_seconds } = progress
  return {
    kind: 'advance',
    done: processed_urls + failed_urls,
    total: total_urls,
    percentage,
    perSecond: urls_per_second,
    etaSeconds: eta_seconds,
    failed: failed_urls,
    paused: status === 'paused',
  }
}

export interface ProgressStream {
  isTTY?: boolean
  columns?: number
  write(text: string): unknown
}

/** Without a terminal, a line is printed after this much progress or this time. */
const lineEveryPercent = 5
const lineIntervalMs = 10_000

/** Early estimates are guesses: the ETA is shown after this much progress or this time. */
const etaFromPercent = 3
const etaFromMs = 10_000

/**
 * Shows progress on stderr: on a terminal as one line that is redrawn, otherwise as occasional plain lines, always including the
 * first and the last.
 */
export class ProgressDisplay {
  readonly #stream: ProgressStream
  readonly #animated: boolean
  readonly #now: () => number
  readonly #startedAt: number
  #printed: Printed | null = null
  #last: ProgressUpdate | null = null
  /** Hides all progress. */
  quiet = false

  /** @param now monotonic milliseconds */
  constructor(options: { stream?: ProgressStream; animated?: boolean; now?: () => number } = {}) {
    this.#stream = options.stream ?? process.stderr
    this.#animated = options.animated ?? isAnimated(this.#stream)
    this.#now = options.now ?? (() => performance.now())
    this.#startedAt = this.#now()
  }

  update(progress: ProgressUpdate): void {
    if (this.quiet) return
    this.#last = progress
    const now = this.#now()
    if (!this.#animated && !isDue(this.#printed, progress, now)) return
    this.#print(progress, now)
  }

  /** Shows how far discovery has come: sitemap files and URLs read. */
  showDiscovery({ phase, files, urls }: Readonly<Record<string, unknown>>): void {
    if (phase !== 'discovery') return
    const text = `Reading sitemaps: ${plural(Number(files), 'file')}, ${plural(Number(urls), 'URL')}`
    this.update({ kind: 'text', text })
  }

  /** Ends the display; the last state stays visible. */
  end(): void {
    const last = this.#last
    if (last === null) return
    if (this.#animated) this.#stream.write('\n')
    else if (this.#printed?.progress !== last) this.#print(last, this.#now())
    this.#last = null
  }

  #print(progress: ProgressUpdate, at: number): void {
    this.#printed = { progress, at }
    const elapsed = at - this.#startedAt
    if (!this.#animated) return void this.#stream.write(`${toLine(progress, elapsed)}\n`)
    // Some terminals wrap a line that fills the last column.
    const columns = (this.#stream.columns ?? 80) - 1
    this.#stream.write(`\r\u001b[2K${toBar(progress, elapsed, columns)}`)
  }
}

export interface Printed {
  progress: ProgressUpdate
  at: number
}

/** Decides whether a plain line is due. */
export function isDue(printed: Printed | null, progress: ProgressUpdate, now: number): boolean {
  if (printed === null || printed.progress.kind !== progress.kind || now - printed.at >= lineIntervalMs) return true
  if (progress.kind === 'text' || printed.progress.kind === 'text') return false
  if ((progress.paused ?? false) !== (printed.progress.paused ?? false)) return true
  const step = (advance: Advance) => Math.floor(advance.percentage / lineEveryPercent)
  return step(progress) > step(printed.progress)
}

/** Formats progress as a plain line. `elapsed` is in ms since the start. */
export function toLine(progress: ProgressUpdate, elapsed: number): string {
  if (progress.kind === 'text') return printable(progress.text)
  const [counts, ...rest] = toParts(progress, elapsed)
  return [`${progress.percentage.toFixed(2)} % (${counts})`, ...rest].join(', ')
}

const maxBarWidth = 40

/** Formats progress as a line with a bar, at most `columns` wide. The bar is dropped first, then text is truncated. */
export function toBar(progress: ProgressUpdate, elapsed: number, columns: number): string {
  if (progress.kind === 'text') return cliTruncate(printable(progress.text), columns)
  const text = [`${progress.percentage.toFixed(2).padStart(6)} %`, ...toParts(progress, elapsed)].join('  ')
  const width = Math.min(maxBarWidth, columns - cells(text) - 1)
  if (width < 5) return cliTruncate(text, columns)
  const filled = Math.floor((width * progress.percentage) / 100)
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${text}`
}

function toParts(
  { done, total, perSecond, etaSeconds, percentage, failed, paused = false }: Advance,
  elapsed: number,
): string[] {
  const knowsEta =
    !paused && etaSeconds !== null && etaSeconds > 0 && (percentage >= etaFromPercent || elapsed >= etaFromMs)
  return [
    `${formatCount(done)}/${formatCount(total)}`,
    ...(paused
      ? ['paused']
      : perSecond > 0
        ? [`${perSecond < 10 ? perSecond.toFixed(1) : formatCount(Math.round(perSecond))}/s`]
        : []),
    ...(knowsEta ? [`ETA ${formatDuration(etaSeconds)}`] : []),
    ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
  ]
}

function isAnimated(stream: ProgressStream): boolean {
  // A terminal without colours often cannot redraw a line either, and NO_COLOR asks for plain output.
  return stream.isTTY === true && allowsColor() && !isContinuousIntegration()
}
