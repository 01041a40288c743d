import { timingSafeEqual } from 'node:crypto'
import type { Catalogue } from './catalogue.ts'
import type { CacheInvalidator } from './invalidator.ts'
import { errorPage, type ShopRequest, type ShopResponse } from './response.ts'

interface AdminOptions {
  catalogue: Catalogue
  invalidator: Pick<CacheInvalidator, 'invalidate' | 'sendNoted'>
  /** Milliseconds since the epoch. */
  clock: () => number
  /** Bearer token; null: every request is refused. */
  token: string | null
}

/** The few endpoints of Shopware's admin API that change what visitors see, and with it the cache. */
export class AdminApi {
  readonly #options: AdminOptions

  constructor(options: AdminOptions) {
    this.#options = options
  }

  async handle(request: ShopRequest, path: string): Promise<ShopResponse> {
    if (!this.#mayChange(request.field('authorization'))) return errorPage(401, 'Unauthorized')
    if (request.method === 'DELETE' && path === '/api/_action/cache-delayed') {
      await this.#options.invalidator.sendNoted()
      return done
    }
    const [, kind, id] = /^\/api\/(product|category)\/([0-9a-f]{32})$/.exec(path) ?? []
    if (request.method !== 'PATCH' || kind === undefined) return errorPage(404, 'Not Found')
    const change = readObject(request.body)
    const tags = kind === 'product' ? this.#changePrice(id!, change) : this.#rename(id!, change)
    if (tags === null) return errorPage(400, 'No such record or value')
    await this.#options.invalidator.invalidate(tags, request.field('sw-force-cache-invalidate') === '1')
    return done
  }

  #mayChange(given: string | undefined): boolean {
    const { token } = this.#options
    const [expected, sent] = [Buffer.from(`Bearer ${token}`), Buffer.from(given ?? '')]
    return token !== null && sent.length === expected.length && timingSafeEqual(sent, expected)
  }

  /** Sets the price of a product, in cents. Returns the tags that Shopware's indexer invalidates then. */
  #changePrice(id: string, { price }: Record<string, unknown>): string[] | null {
    const product = this.#options.catalogue.products.find((each) => each.id === id)
    if (product === undefined || typeof price !== 'number' || !Number.isInteger(price) || price < 0) return null
    product.price = price
    product.updatedAt = new Date(this.#options.clock())
    const { category } = product
    const listings = [category, category.parent].flatMap((each) => (each === null ? [] : `product-listing-${each.id}`))
    return [`product-${id}`, ...listings]
  }

  /** Renames a category in all languages. Its name is in the menu, so every page changes. */
  #rename(id: string, { name }: Record<string, unknown>): string[] | null {
    const category = this.#options.catalogue.categories.find((each) => each.id === id)
    if (category === undefined || typeof name !== 'string' || name === '' || name.length > 100) return null
    category.name = { en: name, de: name }
    return [`category-route-${id}`, 'navigation']
  }
}

const done: ShopResponse = { status: 204, headers: { 'cache-control': 'private, no-store' }, body: '', kind: 'session' }

function readObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
