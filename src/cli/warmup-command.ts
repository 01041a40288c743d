import * as Args from '@oclif/core/args'
import { PagecacheError } from '../errors.ts'
import { formatCount, formatDuration } from '../lib/format.ts'
import type { Operation, Performer, Schema } from '../operations/operation.ts'
import { listWarmups, type WarmupProgressRecord } from '../operations/warmup.ts'
import { BaseCommand } from './base-command.ts'
import { exitCodes } from './exit-codes.ts'
import { findNamed, warmupKind } from './find.ts'
import { Output, type Cell } from './output.ts'

export const warmupArgs = {
  id: Args.string({ description: 'ID of the warmup, or its beginning; default: the latest.' }),
}

/** Argument of the commands that change the state of a warmup. */
export const stateArgs = {
  id: Args.string({ description: 'ID of the warmup, or its beginning; default: the only one that this applies to.' }),
}

type Status = WarmupProgressRecord['status']
type StateChange = Operation<Schema, { success: true; progress: WarmupProgressRecord }>

/** Base of the commands that change the state of a warmup. */
export abstract class WarmupStateCommand extends BaseCommand {
  static override exitCodes: readonly number[] = exitCodes.withTarget

  /** @param from the states in which a warmup can be changed. @param change more of the operation's input */
  protected async changeState(
    operation: StateChange,
    id: string | undefined,
    from: readonly Status[],
    change: Readonly<Record<string, unknown>> = {},
  ) {
    const value = await this.performing(async ({ performer }) => {
      const progressId =
        id === undefined ? await onlyOneIn(performer, from) : (await findNamed(performer, warmupKind, id)).id
      return performer.perform(operation, { progressId, ...change })
    })
    if (!this.silent) presentProgress(value.progress, new Output())
    return value
  }
}

/** The latest warmups that are looked through. */
const recent = 100

/** The id of the only warmup in one of these states. @throws NOT_FOUND without one, INVALID_INPUT where there are several */
async function onlyOneIn(performer: Performer, states: readonly Status[]): Promise<string> {
  const { items } = await performer.perform(listWarmups, { limit: recent, offset: 0 })
  if (items.length === 0) throw noWarmup(undefined)
  const [only, ...others] = items.filter(({ status }) => states.includes(status))
  if (only === undefined)
    throw new PagecacheError('WRONG_STATE', `No warmup is ${states.join(' or ')}. The latest is ${items[0]!.status}.`, {
      hint: 'List them with: pagecache warmup:list',
    })
  if (others.length === 0) return only.id
  const ids = [only, ...others].map(({ id, status }) => `${id} (${status})`)
  throw new PagecacheError('INVALID_INPUT', `Several warmups are ${states.join(' or ')}: ${ids.join(', ')}`, {
    hint: 'Name one of them.',
  })
}

/** A paused warmup is easily forgotten, and another one fetches the same pages again. @throws WRONG_STATE if a warmup is paused */
export async function assertNonePaused(performer: Performer): Promise<void> {
  const { items } = await performer.perform(listWarmups, { limit: recent, offset: 0 })
  const paused = items.find(({ status }) => status === 'paused')
  if (paused === undefined) return
  throw new PagecacheError('WRONG_STATE', `The warmup ${paused.id} is paused at ${paused.percentage.toFixed(2)} %.`, {
    hint: 'Continue it with pagecache warmup:resume, end it with pagecache warmup:cancel, or start another one with --new.',
  })
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
    ...(typeof progress.concurrency !== 'number'
      ? []
      : [['Concurrency', `${progress.concurrency} requests per origin`] as const]),
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
