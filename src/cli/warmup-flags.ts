import * as Flags from '@oclif/core/flags'
import * as Args from '@oclif/core/args'
import type { OutputFlags } from '@oclif/core/interfaces'
import { maxWarmupConcurrency, warmupOrders } from '../config/warmup.ts'
import { PagecacheError } from '../errors.ts'
import { pageTypes } from '../pages/page.ts'
import { noTuiFlag } from './flags.ts'
import type { WarmupOptions } from './start-warmup.ts'

type WarmupFlags = OutputFlags<typeof warmupFlags>

/** Arguments of warmup:start. */
export const startArgs = {
  urls: Args.string({ description: 'URLs or paths to fetch instead of those in the sitemaps.', multiple: true }),
}

/** Flags of warmup:start. */
export const warmupFlags = {
  'sales-channel': Flags.string({ summary: 'Only this sales channel.', helpValue: '<id>' }),
  type: Flags.option({
    options: [...pageTypes, 'unknown'] as const,
    summary: 'Only pages of this type, according to the cache and the path rules; can be repeated.',
    multiple: true,
    helpValue: '<type>',
  })(),
  tag: Flags.string({
    summary: 'Only pages with this cache tag, cached or purged, instead of the sitemaps; can be repeated.',
    multiple: true,
    helpValue: '<tag>',
  }),
  order: Flags.option({
    options: warmupOrders,
    summary: 'priority: as the sitemaps rank them; hits: the most visited pages of the cache first.',
    default: 'priority' as const,
    helpValue: '<order>',
  })(),
  'batch-size': Flags.integer({ summary: 'URLs per batch, 1 to 1000.', default: 50, helpValue: '<n>' }),
  concurrency: Flags.integer({
    summary: `Concurrent requests per origin, 1 to ${maxWarmupConcurrency}; default: as configured.`,
    helpValue: '<n>',
  }),
  watch: Flags.boolean({ summary: 'Wait and show progress in the terminal UI; without a terminal, same as --wait.' }),
  'no-tui': noTuiFlag,
  wait: Flags.boolean({ summary: 'Wait for the end; exit with 1 if a page failed.' }),
  'allow-failures': Flags.boolean({ summary: 'Exit with 0 even if pages failed.' }),
  new: Flags.boolean({ summary: 'Start another warmup beside a paused one.' }),
  force: Flags.boolean({ summary: 'Fetch fresh pages again too.' }),
  'dry-run': Flags.boolean({ summary: 'List what would be fetched; fetch only sitemaps.' }),
}

/** The input of the operation that these arguments and flags ask for. */
export function toWarmupInput({ urls }: { urls?: string[] | undefined }, flags: WarmupFlags): WarmupOptions['input'] {
  return {
    salesChannelId: flags['sales-channel'] ?? null,
    ...(urls !== undefined && { urls }),
    ...(flags.type !== undefined && { types: flags.type }),
    ...(flags.tag !== undefined && { tags: flags.tag }),
    order: flags.order,
    batchSize: flags['batch-size'],
    ...(flags.concurrency !== undefined && { concurrency: flags.concurrency }),
    force: flags.force,
    dryRun: flags['dry-run'],
  }
}

/** The concurrency that an argument names; null for `default`. @throws USAGE */
export function toConcurrency(given: string): number | null {
  if (given === 'default') return null
  const concurrency = /^\d{1,3}$/.test(given) ? Number(given) : 0
  if (concurrency >= 1 && concurrency <= maxWarmupConcurrency) return concurrency
  throw new PagecacheError(
    'USAGE',
    `CONCURRENCY: expected a whole number from 1 to ${maxWarmupConcurrency} or default, not ${JSON.stringify(given)}.`,
  )
}
