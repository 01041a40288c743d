import { statfs } from 'node:fs/promises'
import type { App } from '../app.ts'
import { formatBytes } from '../lib/format-bytes.ts'
import { formatCount, formatDuration } from '../lib/format.ts'
import { dayLength } from '../lib/moment.ts'
import type { Finding, Problem } from '../notify/problems.ts'
import type { WorkerPresence, WorkerStatistics } from '../queue/queue.ts'

/** Looks for problems of one event; none of them changes anything. */
type Check = (app: App) => Promise<Finding[]>

const minute = 60_000

/** The latest ended warmup of each sales channel: failed, or ended with failures. A later one without failures is the recovery. */
const checkWarmups: Check = async (app) => {
  const { listRuns } = await import('../warmup/run/runs.ts')
  const { items } = await listRuns(await app.records(), { limit: 100, offset: 0 })
  const channelOf = ({ sales_channel_id: id }: (typeof items)[number]) => id ?? ''
  const ended = items.filter(({ status }) => status === 'completed' || status === 'failed')
  const latest = [...Map.groupBy(ended, channelOf).values()].map(([run]) => run!)
  const isBad = (run: (typeof items)[number]) => run.status === 'failed' || run.failed_urls > 0
  // Old failures are no news when notifications are configured for the first time.
  const isRecent = (run: (typeof items)[number]) =>
    app.now() - Date.parse(run.finished_at ?? run.updated_at) < dayLength
  const problems = latest.filter((run) => isBad(run) && isRecent(run)).map((run) => describeWarmup(run, channelOf(run)))
  return [
    {
      event: 'warmup',
      problems,
      // Warmups of other channels may have pushed its last one out of the list, and old ones are deleted.
      persists: ({ subject }) => latest.every((run) => channelOf(run) !== subject || isBad(run)),
    },
  ]
}

function describeWarmup(
  run: { id: string; status: string; message: string | null; failed_urls: number; total_urls: number },
  channel: string,
): Problem {
  const where = channel === '' ? '' : ` of sales channel ${channel}`
  const failed = run.status === 'failed'
  return {
    event: 'warmup',
    subject: channel,
    occurrence: run.id,
    title: failed ? `The warmup${where} failed` : `The warmup${where} ended with failures`,
    text: failed
      ? `Warmup ${run.id}: ${run.message ?? 'no reason was recorded'}`
      : `${formatCount(run.failed_urls)} of ${formatCount(run.total_urls)} URLs could not be cached. See them with: pagecache warmup:failures ${run.id}`,
  }
}

/** Reverse proxies that are unreachable or behind for longer than `notify.proxyAfter`. */
const checkProxies: Check = async (app) => {
  const { readProxyStates } = await import('../purge/deliver/proxy-state.ts')
  const names = app.config.reverseProxies.map(({ name }) => name)
  const states = await readProxyStates((await app.records()).db, names, app.now())
  const after = app.config.notify.proxyAfter
  const problems = states.flatMap((state): Problem[] => {
    const since = state.state === 'down' ? state.failingSince : state.oldestPending
    const age = since === null ? 0 : app.now() - Date.parse(since)
    if (state.state === 'ok' || (age < after && state.failed === 0)) return []
    const text = [
      `${formatCount(state.pending)} purges wait, ${formatCount(state.failed)} were given up.`,
      ...(state.lastError === null ? [] : [`Last error: ${state.lastError}`]),
    ].join(' ')
    const what = state.state === 'down' ? 'does not answer' : 'is behind with purges'
    return [{ event: 'proxy', subject: state.name, title: `The reverse proxy ${state.name} ${what}`, text }]
  })
  // It has recovered once no purge is overdue; one that is no longer configured is no problem either.
  const persists: Finding['persists'] = ({ subject }) =>
    states.some(({ name, state }) => name === subject && state !== 'ok')
  return [{ event: 'proxy', problems, persists }]
}

/** The time over which the hit ratio is measured, in milliseconds, and the fewest requests that say something. */
const [ratioRange, fewestRequests] = [15 * minute, 100]
/** How far above the threshold the hit ratio has recovered. */
const ratioMargin = 0.05

const checkHitRatio: Check = async (app) => {
  const threshold = app.config.notify.hitRatio
  if (threshold === null) return [{ event: 'hit-ratio', problems: [], persists: () => false }]
  const { readTraffic } = await import('../traffic/read-traffic.ts')
  const now = app.now()
  const question = { from: now - ratioRange, to: now, bucket: 'minute' } as const
  const { totals } = await readTraffic((await app.records()).db, question, now)
  const { hitRatio, hits, stale, misses } = totals
  const asked = hits + stale + misses
  // Too few requests change nothing.
  if (hitRatio === null || asked < fewestRequests) return []
  const percent = (ratio: number) => `${(ratio * 100).toFixed(1)} %`
  const title = `The hit ratio is below ${percent(threshold)}`
  const text = `${percent(hitRatio)} of ${formatCount(asked)} requests in the last ${formatDuration(ratioRange / 1000)} were answered from the cache. See why with: pagecache cache:traffic --since 1h`
  return [
    {
      event: 'hit-ratio',
      problems: hitRatio < threshold ? [{ event: 'hit-ratio', subject: '', title, text }] : [],
      persists: () => hitRatio < Math.min(1, threshold + ratioMargin),
    },
  ]
}

/** How much more than `notify.diskFree` must be free again. */
const diskMargin = 1.2

const checkDisk: Check = async (app) => {
  const { diskFree } = app.config.notify
  const { bavail, bsize } = await statfs(app.loaded.places.dataDir)
  const free = bavail * bsize
  const text = `${formatBytes(free)} are free for ${app.loaded.places.dataDir}. Free disk space, or lower cache.maxSize.`
  return [
    {
      event: 'disk',
      problems: free < diskFree ? [{ event: 'disk', subject: '', title: 'The disk is nearly full', text }] : [],
      persists: () => free < diskFree * diskMargin,
    },
  ]
}

/** Milliseconds: a process that is started after a crash notices a moment later that its predecessor was lost. */
const noticedWithin = minute

/** Milliseconds: a crash loop is one problem while each of its processes ends earlier than this. */
const steadyAfter = 15 * minute

/** The problem of a process that ended without leaving the queue. Further ones of its machine are the same problem until that has passed. */
export function describeLoss({ process: { host, pid } }: WorkerPresence): Problem {
  return {
    event: 'node',
    subject: host,
    title: `A process was lost on ${host}`,
    text: `Process ${pid} of pagecache ended without leaving the queue: it was killed, or it no longer responds. Other processes have taken over its messages. Further losses on this machine are not reported until a process that was started there afterwards has run for ${steadyAfter / minute} minutes.`,
  }
}

/** Lost processes are reported when their messages are taken over. A machine has recovered once a process that was started there afterwards lasts. */
const checkNodes: Check = async (app) => {
  const { workers } = await (await app.queue()).statistics()
  const isSteady = ({ startedAt }: WorkerStatistics, since: number) =>
    startedAt > since - noticedWithin && app.now() - startedAt >= steadyAfter
  const isBack = (host: string, since: number) => workers.some((each) => each.host === host && isSteady(each, since))
  const problems = await findLostNodes(app)
  return [
    {
      event: 'node',
      problems,
      persists: ({ subject, since }) =>
        // After a week it is old news. A node of the cluster is back once it writes, or was forgotten.
        !subject.startsWith(nodePrefix) && !isBack(subject, Number(since)) && app.now() - Number(since) < 7 * dayLength,
    },
  ]
}

/** Tells subjects of nodes apart from hosts, which may have the same names. */
const nodePrefix = 'node '

/** Nodes of the cluster that have been without a lease for a minute. */
async function findLostNodes(app: App): Promise<Problem[]> {
  if (app.node === null) return []
  const { readNodes } = await import('../cluster/nodes.ts')
  const nodes = await readNodes((await app.records()).db)
  const lost = nodes.filter(({ state, silentFor }) => state !== 'live' && silentFor >= minute)
  return lost.map(({ name, silentFor }) => ({
    event: 'node',
    subject: `${nodePrefix}${name}`,
    title: `The node ${name} is lost`,
    text: `It has not written to the database for ${formatDuration(Math.floor(silentFor / 1000))}: its daemon was killed, or cannot reach the database. Purges do not wait for it. If it does not come back: pagecache cluster:forget ${name}`,
  }))
}

export const checks: readonly Check[] = [checkWarmups, checkProxies, checkHitRatio, checkDisk, checkNodes]
