import { formatBytes } from '../lib/format-bytes.ts'
import { formatCount, formatDuration, plural } from '../lib/format.ts'
import type { Status } from '../operations/status.ts'
import type { Cell, Output } from './output.ts'
import { formatRatio } from './present-traffic.ts'

/** Prints the state of all parts, one line for each. */
export function presentStatus(status: Status, output: Output): void {
  const { configuration, cache, traffic, warmup, queue } = status
  const { file, projectDir, environment } = configuration
  output.pairs([
    ['Daemon', daemonText(status.daemon)],
    ['Version', status.version],
    ['Configuration', `${file ?? 'defaults'} (${environment}, ${projectDir})`],
    ...configuration.channels.map(({ name, url }): [string, Cell] => ['Sales channel', `${name} ${url}`]),
    ['Cache', cache && `${plural(cache.pages, 'page')}, ${formatBytes(cache.size)}`],
    ['Hit ratio', traffic && ratioText(traffic)],
    ['Warmup', warmup === null ? 'none yet' : warmupText(warmup)],
    ['Queue', queue && queueText(queue)],
    ...(status.proxies.length === 0 ? [['Reverse proxies', 'none configured'] as const] : []),
    ...status.proxies.map(({ name, state, pending, failed }): [string, Cell] => [
      'Reverse proxy',
      `${name} ${state}, ${formatCount(pending)} pending, ${formatCount(failed)} failed`,
    ]),
    ...status.nodes.map((node): [string, Cell] => ['Node', nodeText(node)]),
    ...status.problems.map((problem): [string, Cell] => ['Problem', problem]),
  ])
}

function nodeText({ name, state, purgesBehind, leaseLeft }: Status['nodes'][number]): string {
  if (leaseLeft === null) return `${name} ${state === 'live' ? 'live' : 'without a daemon'}`
  return `${name} ${state}${state === 'live' && purgesBehind === 0 ? '' : `, ${plural(purgesBehind, 'purge')} behind`}`
}

function daemonText(daemon: Status['daemon']): string {
  if (daemon === null) return 'not running. Start it with: pagecache serve'
  const age = formatDuration(Math.max(0, Date.now() - Date.parse(daemon.startedAt)) / 1000)
  return `${daemon.url}, process ${daemon.pid}, for ${age}${daemon.mismatch === null ? '' : `. ${daemon.mismatch}`}`
}

function ratioText({ lastHour, lastDay }: NonNullable<Status['traffic']>): string {
  if (lastDay.requests === 0) return 'no requests in the last day'
  const text = ({ cacheable, passes, hitRatio }: typeof lastHour) =>
    `${formatRatio(hitRatio)} of ${formatCount(cacheable)} ${cacheable === 1 ? 'request' : 'requests'}${passes > 0 ? ` (${formatCount(passes)} bypassed)` : ''}`
  return `last hour ${text(lastHour)}, last day ${text(lastDay)}`
}

function warmupText({ id, status, percentage, failed_urls, total_urls }: NonNullable<Status['warmup']>): string {
  return `${status}, ${percentage.toFixed(2)} % of ${plural(total_urls, 'URL')}, ${formatCount(failed_urls)} failed (${id})`
}

function queueText({ waiting, delayed, held, failed, workers }: NonNullable<Status['queue']>): string {
  return `${formatCount(waiting)} waiting, ${formatCount(delayed)} delayed, ${formatCount(held)} in progress, ${formatCount(failed)} failed; ${plural(workers, 'worker')}`
}
