/** A record of the shop. An id is spelled as in Shopware's tags: 32 hex digits in lower case. */
export interface Entity {
  type: EntityType
  id: string
}

interface TagPrefixes {
  /** Prefixes of the tags that a purge of the entity purges; the id follows. */
  purged: readonly string[]
  /** Prefixes of tags in older or other Shopware versions that also name the entity. */
  known?: readonly string[]
}

/**
 * Shopware's tags by entity type, for both directions. A tag is a prefix and an id; the longest matching prefix decides
 * (`product-listing-<category>` is not a product).
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

/** An id that is not a UUID. It contains a digit: a word without one is rather part of a longer tag (`product-list`). */
const plainId = /^(?=.*\d)\w{1,64}$/

/** An id as spelled in tags: a UUID without dashes and in lower case, any other id unchanged; null if it is not a valid id. */
export function normaliseEntityId(id: string): string | null {
  if (uuid.test(id)) return id.replaceAll('-', '').toLowerCase()
  return plainId.test(id) ? id : null
}

/** The tags that a purge of the entity purges. */
export function tagsOf({ type, id }: Entity): string[] {
  return table[type].purged.map((prefix) => prefix + id)
}

/** The entity that a tag names; null for an unknown tag: plugins add their own. */
export function entityOf(tag: string): Entity | null {
  for (const { prefix, type } of prefixes) {
    if (!tag.startsWith(prefix)) continue
    const id = normaliseEntityId(tag.slice(prefix.length))
    if (id !== null) return { type, id }
  }
  return null
}
