import { pick } from '../helpers/random.ts'

/** A page of the shop, as purges select it. */
export interface ShopPage {
  path: string
  type: 'products' | 'categories'
  entity: { type: 'product' | 'category'; id: string }
  tags: readonly string[]
}

export type Scope = 'tag' | 'url' | 'entity' | 'type' | 'all'

/** What a writer changes in the shop and purges. */
export interface Selection {
  scope: Scope
  /** The tag, the path, the entity's ID or the type; empty for everything. */
  value: string
  pages: readonly ShopPage[]
}

export const host = 'shop.test'
/** A page that the shop does not have: each warmup fails for it, and for nothing else. */
export const missing = '/p/missing'

const idOf = (index: number) => `0190c0de00007000800000000000${index.toString(16).padStart(4, '0')}`

const products = Array.from({ length: 24 }, (_, index): ShopPage => {
  const id = idOf(index)
  const entity = { type: 'product', id } as const
  return { path: `/p/${index}`, type: 'products', entity, tags: [`product-${id}`, `colour-${index % 6}`] }
})
const categories = Array.from({ length: 12 }, (_, index): ShopPage => {
  const id = idOf(1000 + index)
  const entity = { type: 'category', id } as const
  return { path: `/c/${index}`, type: 'categories', entity, tags: [`category-route-${id}`, `colour-${index % 6}`] }
})
export const pages: readonly ShopPage[] = [...products, ...categories]

/** Purges of a few pages are the usual ones; a purge of everything leaves little to be stale. */
const scopes: readonly Scope[] = ['tag', 'tag', 'tag', 'url', 'url', 'url', 'entity', 'entity', 'type', 'all']

export function pickSelection(next: () => number): Selection {
  const scope = pick(next, scopes)
  const page = pick(next, pages)
  if (scope === 'tag') return tagged(`colour-${Math.floor(next() * 6)}`)
  if (scope === 'url') return { scope, value: page.path, pages: [page] }
  if (scope === 'entity') return { scope, value: page.entity.id, pages: [page] }
  if (scope === 'type') return { scope, value: page.type, pages: pages.filter(({ type }) => type === page.type) }
  return { scope, value: '', pages }
}

function tagged(tag: string): Selection {
  return { scope: 'tag', value: tag, pages: pages.filter(({ tags }) => tags.includes(tag)) }
}
