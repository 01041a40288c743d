import { join, span, type Line, type Tone } from '../../text/line.ts'
import { shortSpan, timeOfDay } from '../../text/amount.ts'
import type { Asked } from '../../view.ts'
import { silence, waitingText, type Progress, type Watched } from './watched.ts'

const states: Record<Progress['status'], { sign: string; word: string; tone: Tone }> = {
  running: { sign: '●', word: 'RUNNING', tone: 'good' },
  paused: { sign: '‖', word: 'PAUSED', tone: 'warn' },
  completed: { sign: '✓', word: 'COMPLETED', tone: 'good' },
  cancelled: { sign: '×', word: 'CANCELLED', tone: 'warn' },
  failed: { sign: '×', word: 'FAILED', tone: 'bad' },
}

export function stateSpan(status: Progress['status']): { text: string; tone: Tone } {
  const { sign, word, tone } = states[status]
  return { text: `${sign} ${word}`, tone }
}

/** The state of the run according to the store, and a request that the store has not confirmed yet. */
export function stateLine(
  { progress, live }: Watched & { progress: Progress },
  asked: Asked | null,
  width: number,
): Line {
  const began = Date.parse(progress.created_at)
  const ended =
    progress.finished_at === null ? (live?.at ?? Date.parse(progress.updated_at)) : Date.parse(progress.finished_at)
  const pending: Line[] =
    asked?.id === progress.id ? [[span(`${asked.action} requested, not confirmed yet`, 'warn')]] : []
  const parts: Line[] = [
    [stateSpan(progress.status)],
    ...pending,
    [span(`since ${timeOfDay(began)} UTC, ${shortSpan(Math.max(0, ended - began) / 1000)}`)],
    ...(typeof progress.concurrency === 'number' ? [[span(`concurrency ${progress.concurrency}`)]] : []),
    [span(`run ${progress.id}`, 'dim')],
    [
      span(
        progress.sales_channel_id === null ? 'all sales channels' : `sales channel ${progress.sales_channel_id}`,
        'dim',
      ),
    ],
  ]
  return join(parts, width)
}

/** Why a run makes no progress, or how it ended; null for a run in progress. */
export function remark(watched: Watched & { progress: Progress }): Line | null {
  const { progress, live } = watched
  if (progress.message !== null && progress.status === 'failed') return [span(progress.message, 'bad')]
  const waiting = waitingText(watched)
  if (waiting !== null) return [span(waiting, 'warn')]
  const silent = silence(watched)
  if (silent === null) return progress.message === null ? null : [span(progress.message, 'warn')]
  if (live?.updatedAt === null)
    return [span('No worker has started it yet. Start one: pagecache messenger:consume async', 'warn')]
  return [span('No worker is processing it any more. Start one: pagecache messenger:consume async', 'warn')]
}
