import type { Fault } from './faults.ts'
import { writeKeyPath, type KeyPath, type Source } from './raw.ts'
import type { Config } from './schema.ts'

type SourceOf = (path: KeyPath) => Source

/** Finds values that are valid by themselves but not together. */
export function findConflicts(config: Config, sourceOf: SourceOf): Fault[] {
  return [
    ...findUnreachable(config, sourceOf),
    ...findTooManyProcesses(config, sourceOf),
    ...findTooManyClasses(config, sourceOf),
    ...findUnordered(config, sourceOf),
  ]
}

/** Only in a common database do the purges of all nodes have an order, by which a shared page is known to be current. */
function findUnordered({ cache, records }: Config, sourceOf: SourceOf): Fault[] {
  if (cache.shared.url === null || records.url !== null) return []
  const path = ['cache', 'shared', 'url']
  const message = 'nodes share pages only with a common database; set records.url'
  return [{ key: writeKeyPath(path), source: sourceOf(path), message }]
}

function findUnreachable({ server, trustedProxies }: Config, sourceOf: SourceOf): Fault[] {
  if (!server.proxyProtocol || server.socket !== null || trustedProxies.length > 0) return []
  const path = ['server', 'proxyProtocol']
  const message =
    'every connection would be closed; add the address of the proxy to trustedProxies, or set server.socket'
  return [{ key: writeKeyPath(path), source: sourceOf(path), message }]
}

/** Each process sends at least one request at a time, so more processes than that would exceed the limit together. */
function findTooManyProcesses({ server, origin }: Config, sourceOf: SourceOf): Fault[] {
  if (server.processes <= origin.maxConcurrent) return []
  const path = ['server', 'processes']
  const message = `${server.processes} processes cannot share origin.maxConcurrent (${origin.maxConcurrent}); set it to at most that number, or raise origin.maxConcurrent`
  return [{ key: writeKeyPath(path), source: sourceOf(path), message }]
}

/** Each combination of visitors' classes is a variant of every page. */
function findTooManyClasses({ cache }: Config, sourceOf: SourceOf): Fault[] {
  const counts = Object.values(cache.variants.map).map(
    (map) => new Set([...Object.keys(map.classes), map.default]).size,
  )
  const combinations = counts.reduce((product, count) => product * count, 1)
  if (combinations <= cache.maxVariants) return []
  const path = ['cache', 'variants', 'map']
  const message = `its classes have ${combinations} combinations, more than cache.maxVariants (${cache.maxVariants})`
  return [{ key: writeKeyPath(path), source: sourceOf(path), message }]
}
