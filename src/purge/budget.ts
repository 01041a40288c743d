import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { PageStore } from '../pages/page-store.ts'
import type { EntityType } from './entities.ts'
import type { Plan, PurgeBudget } from './intent.ts'
import type { Invalidation, Softened } from './invalidation.ts'
import type { PurgeKey } from './purge-key.ts'
import { toGroups } from './remove-locally.ts'

/**
 * Records that a shop can deactivate or delete. Their pages may have to disappear, and a purge does not say why it was sent, so their
 * tags are never purged softly by the budget.
 */
const mayDisappear: ReadonlySet<EntityType> = new Set(['product', 'category', 'landing_page', 'sales_channel'])

/**
 * Pages with a tag below which its purge stays hard, whatever their share: a shop renders this many within seconds, and the visitors of a
 * small cache need not get old pages for that.
 */
const fewestPages = 50

/** How long pages are counted before others get a turn, in milliseconds: a purge may name a hundred thousand tags. */
const atOnce = 5

/** Makes the purges of tags soft that are on too many pages. */
export async function applyBudget(
  pages: Pick<PageStore, 'count'>,
  { softAbove, fewest }: Pick<PurgeBudget, 'softAbove' | 'fewest'>,
  plan: Plan,
): Promise<{ plan: Plan; softened: Softened[] }> {
  const softened = await softenedOf(pages, softAbove, plan.keys, plan.invalidation, fewest)
  if (softened.size === 0) return { plan, softened: [] }
  const keys = plan.keys.map((key) => (softened.has(key) ? ({ ...key, softened: true } as PurgeKey) : key))
  return { plan: { ...plan, keys, groups: toGroups(keys) }, softened: [...softened.values()] }
}

/** The tags of a purge that are on too many pages; none if the purge is hard or soft by request. */
export async function softenedOf(
  pages: Pick<PageStore, 'count'>,
  softAbove: number | null,
  keys: readonly PurgeKey[],
  { soft, hard = false }: Pick<Invalidation, 'soft' | 'hard'>,
  fewest = fewestPages,
): Promise<Map<PurgeKey, Softened>> {
  const softened = new Map<PurgeKey, Softened>()
  const eligible = softAbove === null || soft || hard ? [] : keys.filter(mayBeSoftened)
  if (softAbove === null || eligible.length === 0) return softened
  const all = await pages.count({ kind: 'all' })
  let began = performance.now()
  for (const key of eligible) {
    if (performance.now() - began > atOnce) {
      await yieldToOthers()
      began = performance.now()
    }
    const count = await pages.count({ kind: 'tags', tags: [key.tag] })
    if (count >= fewest && count > all * softAbove)
      softened.set(key, { tag: key.tag, pages: count, share: Math.round((1000 * count) / all) / 1000 })
  }
  return softened
}

function mayBeSoftened(key: PurgeKey): key is Extract<PurgeKey, { tag: string }> {
  return 'tag' in key && (key.entity === null || !mayDisappear.has(key.entity.type))
}
