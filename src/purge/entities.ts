/** A record of the shop. Shopware's ids are as its tags have them: 32 hex digits in lower case. */
export interface Entity {
  type: EntityType
  id: string
}

interface TagPrefixes {
  /** The tags that a purge of the entity is, each followed by the id. */
  purged: readonly string[]
  /** Tags of older or other Shopware versions that name it too. */
  known?: readonly string[]
}

/**
 * Shopware's tags and the entities that they name: the one table for both directions. A tag is a prefix and an id; where two
 * prefixes fit, the longer one is meant (`product-listing-<category>` is no product).
 */
const table = {
  product: { purged: ['product-'], known: ['product-detail-route-', 'product-review-route-', 'cross-selling-route-'] },
  category: { purged: ['category-route-', 'product-listing-'], known: ['product-listing-route-'] },
  cms_page: { purged: ['cms-page-'] },
  landing_page: { purged: ['landing-page-route-'] },
  product_stream: { purged: ['product-stream-'] },
  product_manufacturer: { purged: ['product-manufacturer-'] },
  sales_channel: {
    purged: [
      'system.config-',
      'sitemap-route-',
      'payment-method-route-',
      'shipping-method-route-',
      'currency-route-',
      'language-route-',
      'country-route-',
    ],
    known: ['context-factory-', 'base-context-factory-'],
  },
  snippet_set: { purged: ['translator-'] },
  theme: { purged: ['theme-config-'] },
} as const satisfies Record<string, TagPrefixes>

export type EntityType = keyof typeof table
export const entityTypes = Object.keys(table) as EntityType[]

const prefixes: readonly { prefix: string; type: EntityType }[] = entityTypes
  .flatMap((type) => prefixesOf(table[type]).map((prefix) => ({ prefix, type })))
  .sort((a, b) => b.prefix.length - a.prefix.length)

function prefixesOf({ purged, known = [] }: TagPrefixes): readonly string[] {
  return [...purged, ...known]
}

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i

/** Ids of shops that count, or name their records; without a digit it is rather a word of a longer tag (`product-list`). */
const plainId = /^(?=.*\d)\w{1,64}$/

/** An id as the tags have it: a UUID without dashes and in lower case, another one as it is; null for what is none. */
export function normaliseEntityId(id: string): string | null {
  if (uuid.test(id)) return id.replaceAll('-', '').toLowerCase()
  return plainId.test(id) ? id : null
}

/** The tags that a purge of an entity is. */
export function tagsOf({ type, id }: Entity): string[] {
  return table[type].purged.map((prefix) => prefix + id)
}

/** The entity that a tag names; null for a tag that we know nothing of: plugins add any. */
export function entityOf(tag: string): Entity | null {
  for (const { prefix, type } of prefixes) {
    if (!tag.startsWith(prefix)) continue
    const id = normaliseEntityId(tag.slice(prefix.length))
    if (id !== null) return { type, id }
  }
  return null
}
