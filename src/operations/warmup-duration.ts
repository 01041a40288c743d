import type { WarmupProgress } from '../warmup/run/progress.ts'

/**
 * How long a warmup has taken, in seconds, with its pauses. The command that starts it and the daemon that runs it have clocks of their own,
 * so a short one could seem to end before it began.
 */
export function durationOf(progress: Pick<WarmupProgress, 'created_at' | 'updated_at' | 'finished_at'>): number {
  const { created_at: begun, updated_at: updated, finished_at: finished } = progress
  return Math.max(0, (Date.parse(finished ?? updated) - Date.parse(begun)) / 1000)
}
