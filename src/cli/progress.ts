import { allowsColor, isContinuousIntegration } from '../config/environment.ts'
import { formatCount } from '../lib/format-count.ts'
import { formatDuration } from '../lib/format-duration.ts'
import { plural } from '../lib/plural.ts'
import { printable } from '../lib/printable.ts'
import type { WarmupProgressRecord } from '../operations/warmup.ts'

/** How far a long operation has come, of something that is counted. */
interface Advance {
  done: number
  total: number
  /** 0 to 100. */
  percentage: number
  perSecond: number
  etaSeconds: number | null
  failed: number
  /** Somebody has it stand still: its rate is one of the past. */
  paused?: boolean
}

/** What is shown before the total is known: a text. */
export type Progress = { kind: 'text'; text: string } | ({ kind: 'advance' } & Advance)

/** A warmup's record, as it is shown. */
export function toAdvance(progress: WarmupProgressRecord): Progress {
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

/** Off a terminal a line is printed each time that so much was done, or so many milliseconds have passed. */
const lineEveryPercent = 5
const lineEvery = 10_000

/** An estimate from the first moments of a run is a guess: none is shown before so much was done or time has passed. */
const etaFromPercent = 3
const etaFrom = 10_000

/**
 * Shows progress on stderr: on a terminal as one line that is drawn again, else as plain lines now and then, the first and
 * the last always.
 */
export class ProgressDisplay {
  readonly #stream: ProgressStream
  readonly #animated: boolean
  readonly #now: () => number
  readonly #startedAt: number
  #printed: Printed | null = null
  #last: Progress | null = null

  /** @param now monotonic milliseconds */
  constructor(options: { stream?: ProgressStream; animated?: boolean; now?: () => number } = {}) {
    this.#stream = options.stream ?? process.stderr
    this.#animated = options.animated ?? isAnimated(this.#stream)
    this.#now = options.now ?? (() => performance.now())
    this.#startedAt = this.#now()
  }

  update(progress: Progress): void {
    this.#last = progress
    const now = this.#now()
    if (!this.#animated && !isDue(this.#printed, progress, now)) return
    this.#print(progress, now)
  }

  /** Leaves the last state standing. */
  end(): void {
    const last = this.#last
    if (last === null) return
    if (this.#animated) this.#stream.write('\n')
    else if (this.#printed?.progress !== last) this.#print(last, this.#now())
    this.#last = null
  }

  #print(progress: Progress, at: number): void {
    this.#printed = { progress, at }
    const elapsed = at - this.#startedAt
    if (!this.#animated) return void this.#stream.write(`${toLine(progress, elapsed)}\n`)
    // One column stays free: a line that fills the last one wraps on some terminals.
    const columns = (this.#stream.columns ?? 80) - 1
    this.#stream.write(`\r\u001b[2K${toBar(progress, elapsed, columns)}`)
  }
}

export interface Printed {
  progress: Progress
  at: number
}

/** Whether a line is to be printed, off a terminal. */
export function isDue(printed: Printed | null, progress: Progress, now: number): boolean {
  if (printed === null || printed.progress.kind !== progress.kind || now - printed.at >= lineEvery) return true
  if (progress.kind === 'text' || printed.progress.kind === 'text') return false
  if ((progress.paused ?? false) !== (printed.progress.paused ?? false)) return true
  const step = (advance: Advance) => Math.floor(advance.percentage / lineEveryPercent)
  return step(progress) > step(printed.progress)
}

/** One plain line. `elapsed`: milliseconds since the beginning. */
export function toLine(progress: Progress, elapsed: number): string {
  if (progress.kind === 'text') return printable(progress.text)
  const [counts, ...rest] = toParts(progress, elapsed)
  return [`${progress.percentage.toFixed(2)} % (${counts})`, ...rest].join(', ')
}

const widestBar = 40

/** One line with a bar, at most `columns` wide: what does not fit is left out, the bar first. */
export function toBar(progress: Progress, elapsed: number, columns: number): string {
  if (progress.kind === 'text') return printable(progress.text).slice(0, columns)
  const text = [`${progress.percentage.toFixed(2).padStart(6)} %`, ...toParts(progress, elapsed)].join('  ')
  const width = Math.min(widestBar, columns - text.length - 1)
  if (width < 5) return text.slice(0, columns)
  const filled = Math.floor((width * progress.percentage) / 100)
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${text}`
}

function toParts(
  { done, total, perSecond, etaSeconds, percentage, failed, paused = false }: Advance,
  elapsed: number,
): string[] {
  const knowsEta =
    !paused && etaSeconds !== null && etaSeconds > 0 && (percentage >= etaFromPercent || elapsed >= etaFrom)
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
  // A terminal that knows no colours knows no way back to the beginning of a line either; NO_COLOR asks for quiet too.
  return stream.isTTY === true && allowsColor() && !isContinuousIntegration()
}

/** What is said while sitemaps are read. */
export function discoveryText({ files, urls }: { files: number; urls: number }): string {
  return `Reading sitemaps: ${plural(files, 'file')}, ${plural(urls, 'URL')}`
}
