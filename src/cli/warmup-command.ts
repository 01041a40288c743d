import * as Args from '@oclif/core/args'
import { PagecacheError } from '../errors.ts'
import { formatCount } from '../lib/format-count.ts'
import { formatDuration } from '../lib/format-duration.ts'
import type { Operation, Performer, Schema } from '../operations/operation.ts'
import { readWarmupProgress, type WarmupProgressRecord } from '../operations/warmup.ts'
import { BaseCommand } from './base-command.ts'
import { exitCodes } from './exit-codes.ts'
import type { Cell, Output } from './output.ts'

export const warmupArgs = { id: Args.string({ description: 'Which warmup; the latest one without it.' }) }

type Move = Operation<Schema, { success: true; progress: WarmupProgressRecord }>

/** What the commands share that move a warmup from one state to another. */
export abstract class WarmupMoveCommand extends BaseCommand {
  static override exitCodes: readonly number[] = exitCodes.ofOne

  protected async move(operation: Move, id: string | undefined) {
    const value = await this.performing(async (performer) =>
      performer.perform(operation, { progressId: id ?? (await latestId(performer)) }),
    )
    if (!this.jsonEnabled()) presentProgress(value.progress, await this.output())
    return value
  }

  protected async output(): Promise<Output> {
    const { Output: Terminal } = await import('./output.ts')
    return new Terminal()
  }
}

/** @throws NOT_FOUND where there is none */
async function latestId(performer: Performer): Promise<string> {
  const { progress } = await performer.perform(readWarmupProgress, {})
  if (progress === null) throw noWarmup(undefined)
  return progress.id
}

export function noWarmup(id: string | undefined): PagecacheError {
  return new PagecacheError('NOT_FOUND', id === undefined ? 'There is no warmup.' : `There is no warmup ${id}.`, {
    hint: id === undefined ? 'pagecache warmup:start begins one.' : 'pagecache warmup:list shows those there are.',
  })
}

/** How far a warmup is. */
export function presentProgress(progress: WarmupProgressRecord, output: Output): void {
  const {
    total_urls,
    checked_urls,
    processed_urls,
    skipped_urls,
    failed_urls,
    remaining_urls,
    percentage,
    urls_per_second,
    eta_seconds,
  } = progress
  const running = progress.status === 'running'
  const pairs: (readonly [string, Cell])[] = [
    ['Warmup', progress.id],
    ['State', progress.status],
    ...(progress.message === null ? [] : [['Message', progress.message] as const]),
    ['Sales channel', progress.sales_channel_id ?? 'all'],
    ['Done', `${percentage.toFixed(2)} %`],
    ['URLs', formatCount(total_urls)],
    ['Checked', formatCount(checked_urls)],
    ['Warm', `${formatCount(processed_urls)} (${formatCount(skipped_urls)} were fresh already)`],
    ['Failed', formatCount(failed_urls)],
    ['Remaining', formatCount(remaining_urls)],
    ...(running ? [['Rate', `${urls_per_second.toFixed(1)} URLs/s`] as const] : []),
    ...(running && eta_seconds !== null ? [['Time left', formatDuration(eta_seconds)] as const] : []),
    ['Started', progress.created_at],
    ...(progress.finished_at === null
      ? [['Last change', progress.updated_at] as const]
      : [['Ended', progress.finished_at] as const]),
  ]
  output.pairs(pairs)
}
