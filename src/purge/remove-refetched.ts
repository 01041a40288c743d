import type { PurgeCluster } from '../cluster/purge-cluster.ts'
import { applyRemovals, type Removal, type RemovalStore } from '../cluster/removal.ts'
import type { Pending } from './deliver/plan.ts'

export interface Refetching {
  pages: RemovalStore['pages']
  /** The other nodes; null without any. */
  cluster: Pick<PurgeCluster, 'appendUnlogged'> | null
}

/**
 * Removes purged pages once more, on all nodes. A proxy between this cache and the shop may have answered with an old page after the
 * local purge and before its own.
 *
 * @param delivered the purges that the proxy has acknowledged; null: a purge of everything
 */
export async function removeRefetched(
  { pages, cluster }: Refetching,
  delivered: readonly Pending[] | null,
): Promise<void> {
  const removals = toRemovals(delivered)
  if (removals.length === 0) return
  await cluster?.appendUnlogged(removals)
  const { toMatcher } = await import('./pattern.ts')
  await applyRemovals({ pages, toMatcher }, removals)
}

function toRemovals(delivered: readonly Pending[] | null): Removal[] {
  if (delivered === null) return [{ kind: 'all' }]
  const patterns = delivered.flatMap(({ kind, key }): Removal[] =>
    kind === 'pattern' ? [{ kind: 'pattern', pattern: key! }] : [],
  )
  const others = [false, true].flatMap((soft): Removal[] => {
    const purges = delivered.filter((purge) => purge.soft === soft)
    const [urls, tags] = [keysOf(purges, ['url']), keysOf(purges, ['tag', 'entity'])]
    const softly = soft ? ({ soft } as const) : {}
    return [
      ...(urls.length > 0 ? [{ kind: 'urls', urls, ...softly } as const] : []),
      ...(tags.length > 0 ? [{ kind: 'tags', tags, ...softly } as const] : []),
    ]
  })
  return [...patterns, ...others]
}

function keysOf(purges: readonly Pending[], kinds: readonly Pending['kind'][]): string[] {
  return [...new Set(purges.filter(({ kind }) => kinds.includes(kind)).map(({ key }) => key!))]
}
