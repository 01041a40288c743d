import type { PageStore } from '../pages/page-store.ts'
import type { Pending } from './deliver/plan.ts'

/**
 * Removes purged pages once more. A proxy between this cache and the shop may have answered with an old page after the local purge and
 * before its own.
 *
 * @param delivered the purges that the proxy has acknowledged; null: a purge of everything
 */
export async function removeRefetched(
  pages: Pick<PageStore, 'remove'>,
  delivered: readonly Pending[] | null,
): Promise<void> {
  if (delivered === null) return void (await pages.remove({ kind: 'all' }))
  const { toMatcher } = await import('./pattern.ts')
  for (const { kind, key } of delivered)
    if (kind === 'pattern') await pages.remove({ kind: 'matching', matches: toMatcher(key!) })
  for (const soft of [false, true]) {
    const purges = delivered.filter((purge) => purge.soft === soft)
    const [urls, tags] = [keysOf(purges, ['url']), keysOf(purges, ['tag', 'entity'])]
    if (urls.length > 0) await pages.remove({ kind: 'urls', urls }, { soft })
    if (tags.length > 0) await pages.remove({ kind: 'tags', tags }, { soft })
  }
}

function keysOf(purges: readonly Pending[], kinds: readonly Pending['kind'][]): string[] {
  return [...new Set(purges.filter(({ kind }) => kinds.includes(kind)).map(({ key }) => key!))]
}
