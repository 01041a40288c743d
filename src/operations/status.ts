import { hostname } from 'node:os'
import * as z from 'zod/mini'
import manifest from '../../package.json' with { type: 'json' }
import type { LoadedConfig } from '../config/load.ts'
import { compareWithDaemon, findDaemon, withDaemonsFlags, type RunningDaemon } from '../config/running-daemon.ts'
import { PagecacheError } from '../errors.ts'
import { cacheStatistics } from './cache.ts'
import { nodeView, readClusterNodes, type NodeValue } from './cluster.ts'
import { count, described, success, succeeded } from './fields.ts'
import { messengerStatistics } from './messenger.ts'
import { defineOperation, performOperation, type OperationContext } from './operation.ts'
import { purgeStatistics } from './purge-log.ts'
import { readTraffic } from './traffic.ts'
import { progressRecord, readWarmupProgress } from './warmup.ts'

const traffic = z.object({
  requests: count,
  cacheable: described(count, 'requests of which hitRatio is a share: hits, stale and misses'),
  passes: described(count, 'bypassed the cache'),
  hitRatio: described(z.nullable(z.number()), '0 to 1; null without any request for a page'),
})

export const readStatus = defineOperation({
  name: 'status',
  summary: 'Shows the state of all parts: daemon, configuration, hit ratio, warmup, queue, reverse proxies, nodes',
  input: z.object({}),
  output: z.object({
    success,
    version: z.string(),
    daemon: described(
      z.nullable(
        z.object({
          pid: z.int(),
          url: z.string(),
          startedAt: z.iso.datetime(),
          mismatch: described(z.nullable(z.string()), 'how its configuration differs from the file'),
        }),
      ),
      'null: none is running for this project and environment',
    ),
    configuration: z.object({
      environment: z.string(),
      projectDir: z.string(),
      file: z.nullable(z.string()),
      channels: z.array(z.object({ id: z.string(), name: z.string(), url: z.string() })),
    }),
    cache: z.nullable(z.object({ pages: count, size: described(count, 'bytes') })),
    traffic: z.nullable(z.object({ lastHour: traffic, lastDay: traffic })),
    warmup: described(z.nullable(progressRecord), 'the latest; null before the first'),
    queue: z.nullable(z.object({ waiting: count, delayed: count, held: count, failed: count, workers: count })),
    proxies: z.array(
      z.object({ name: z.string(), state: z.enum(['ok', 'behind', 'down']), pending: count, failed: count }),
    ),
    nodes: described(z.array(nodeView), 'the machines of this installation'),
    problems: described(z.array(z.string()), 'parts that could not be read, and why'),
  }),
  http: { method: 'GET', path: '/status' },
  async run(context) {
    const { loaded } = context.app
    const problems: string[] = []
    const read = <T>(work: () => Promise<T>) => work().catch((error: unknown) => noteProblem(error, problems))
    const found = findDaemon(loaded.places.dataDir)
    const [nodes, cache, visitors, warmup, queue, purges] = await Promise.all([
      read(() => readClusterNodes(context.app)),
      read(() => performOperation(cacheStatistics, context, {})),
      read(() => readRatios(context)),
      read(() => performOperation(readWarmupProgress, context, {})),
      read(() => performOperation(messengerStatistics, context, {})),
      read(() => performOperation(purgeStatistics, context, {})),
    ])
    const { environment, places, file, config } = loaded
    return {
      ...succeeded,
      version: manifest.version,
      daemon: found && describeDaemon(loaded, found),
      configuration: {
        environment,
        projectDir: places.projectDir,
        file,
        channels: config.salesChannels.map(({ id, name, url }) => ({ id, name, url })),
      },
      cache: cache && { pages: cache.totalFiles, size: cache.totalSize },
      traffic: visitors,
      warmup: warmup?.progress ?? null,
      queue: queue && {
        ...sumOf(queue.transports),
        failed: queue.failed,
        workers: queue.workers.length,
      },
      proxies: (purges?.proxies ?? []).map(({ name, state, pending, failed }) => ({ name, state, pending, failed })),
      nodes: nodes ?? (context.app.node === null ? [describeMachine(found)] : []),
      problems: [...new Set(problems)],
    }
  },
})

export type Status = z.output<typeof readStatus.output>

/** The only machine. */
function describeMachine(daemon: RunningDaemon | null): NodeValue {
  return {
    name: hostname(),
    address: daemon?.url ?? null,
    version: manifest.version,
    since: daemon && new Date(daemon.startedAt).toISOString(),
    state: daemon === null ? 'gone' : 'live',
    purgesBehind: 0,
    leaseLeft: null,
  }
}

function describeDaemon(loaded: LoadedConfig, daemon: RunningDaemon) {
  return {
    pid: daemon.process.pid,
    url: daemon.url,
    startedAt: new Date(daemon.startedAt).toISOString(),
    mismatch: compareWithDaemon(withDaemonsFlags(loaded, daemon), daemon)?.message ?? null,
  }
}

/** A part that cannot be read does not hide the others. */
function noteProblem(error: unknown, problems: string[]): null {
  if (!(error instanceof PagecacheError)) throw error
  problems.push(error.message)
  return null
}

async function readRatios(context: OperationContext) {
  const read = async (last: string) => {
    const { totals } = await performOperation(readTraffic, context, { last })
    const { requests, hits, stale, misses, passes, hitRatio } = totals
    return { requests, cacheable: hits + stale + misses, passes, hitRatio }
  }
  return { lastHour: await read('1h'), lastDay: await read('24h') }
}

function sumOf(transports: readonly { name: string; waiting: number; delayed: number; held: number }[]) {
  const own = transports.filter(({ name }) => name !== 'failed')
  const sum = (key: 'waiting' | 'delayed' | 'held') => own.reduce((total, transport) => total + transport[key], 0)
  return { waiting: sum('waiting'), delayed: sum('delayed'), held: sum('held') }
}
