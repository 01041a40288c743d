import * as Args from '@oclif/core/args'
import { PagecacheError } from '../errors.ts'
import { formatCount, formatDuration } from '../lib/format.ts'
import type { Operation, Performer, Schema } from '../operations/operation.ts'
import { readWarmupProgress, type WarmupProgressRecord } from '../operations/warmup.ts'
import { BaseCommand } from './base-command.ts'
import { exitCodes } from './exit-codes.ts'
import { Output, type Cell } from './output.ts'

export const warmupArgs = { id: Args.string({ description: 'Warmup ID; default: the latest.' }) }

type StateChange = Operation<Schema, { success: true; progress: WarmupProgressRecord }>

/** Base of the commands that change the state of a warmup. */
export abstract class WarmupStateCommand extends BaseCommand {
  static override exitCodes: readonly number[] = exitCodes.withTarget

  protected async changeState(operation: StateChange, id: string | undefined) {
    const value = await this.performing(async ({ performer }) =>
      performer.perform(operation, { progressId: id ?? (await latestId(performer)) }),
    )
    if (!this.jsonEnabled()) presentProgress(value.progress, new Output())
    return value
  }
}

/** @throws NOT_FOUND if there has been no warmup */
async function latestId(performer: Performer): Promise<string> {
  const { progress } = await performer.perform(readWarmupProgress, {})
  if (progress === null) throw noWarmup(undefined)
  return progress.id
}

export function noWarmup(id: string | undefined): PagecacheError {
  return new PagecacheError('NOT_FOUND', id === undefined ? 'There is no warmup yet.' : `There is no warmup ${id}.`, {
    hint: id === undefined ? 'Start one with: pagecache warmup:start' : 'List them with: pagecache warmup:list',
  })
}

/** Prints the progress of a warmup. */
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
    ['Status', progress.status],
    ...(progress.message === null ? [] : [['Message', progress.message] as const]),
    ['Sales channel', progress.sales_channel_id ?? 'all'],
    ['Progress', `${percentage.toFixed(2)} %`],
    ['URLs', formatCount(total_urls)],
    ['Checked', formatCount(checked_urls)],
    ['Cached', `${formatCount(processed_urls)} (${formatCount(skipped_urls)} already fresh)`],
    ['Failed', formatCount(failed_urls)],
    ['Remaining', formatCount(remaining_urls)],
    ...(running ? [['Rate', `${urls_per_second.toFixed(1)} URLs/s`] as const] : []),
    ...(running && eta_seconds !== null ? [['Time left', formatDuration(eta_seconds)] as const] : []),
    ['Started', progress.created_at],
    ...(progress.finished_at === null
      ? [['Updated', progress.updated_at] as const]
      : [['Ended', progress.finished_at] as const]),
  ]
  output.pairs(pairs)
}
