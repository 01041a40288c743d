import { createHash } from 'node:crypto'
import type { PageType } from '../pages/page.ts'
import type { Catalogue, Category, ContentPage, Product } from './catalogue.ts'
import type { ShopChannel } from './channel.ts'
import type { Layout, Visitor } from './layout.ts'
import {
  buyboxPath,
  listingPages,
  renderBuybox,
  renderContent,
  renderHome,
  renderListing,
  renderProduct,
} from './page-views.ts'

/** A cacheable page of the shop. */
export interface SitePage {
  type: PageType
  /** Path and query below the channel's prefix. */
  path: string
  tags: readonly string[]
  cacheControl: string
  /** Sitemap priority, 0 to 1. */
  priority: number
  updatedAt: Date
  /** Whether it is sent with validators (ETag, Last-Modified). */
  validated: boolean
  render(visitor: Visitor): string
}

export interface Site {
  channel: ShopChannel
  layout: Layout
  /** By `path`. */
  pages: ReadonlyMap<string, SitePage>
}

const shared = 'public, s-maxage=7200'
const sharedWithStale = `${shared}, stale-while-revalidate=300, stale-if-error=86400`

/** Describes all cacheable pages of one storefront. */
export function createSite(channel: ShopChannel, layout: Layout, catalogue: Catalogue): Site {
  const pages = [
    describeHome(channel, layout, catalogue),
    ...catalogue.contentPages.map((page) => describeContent(page, channel, layout)),
    ...catalogue.categories.flatMap((category) => describeListings(category, channel, layout)),
    ...catalogue.products.map((product) => describeProduct(product, channel, layout)),
    ...catalogue.products.flatMap((product) => describeBuyboxes(product, channel)),
  ]
  return { channel, layout, pages: new Map(pages.map((page) => [page.path, page])) }
}

/** Finds the page of a path below the prefix and its query. Unknown parameters are ignored. */
export function findPage(site: Site, path: string, query: URLSearchParams): SitePage | null {
  if (path.startsWith('/widgets/buybox/')) {
    return (
      site.pages.get(`${path}?elementId=${query.get('elementId') ?? 'buybox'}&option=${query.get('option')}`) ?? null
    )
  }
  const page = site.pages.get(path) ?? null
  const number = query.get('p') ?? '1'
  if (page?.type !== 'categories' || number === '1') return page
  return site.pages.get(`${path}?p=${number}`) ?? null
}

/** A weak entity tag, as sent by a compressing web server: the bytes may differ, but not the page. */
export function toEntityTag(html: string): string {
  return `W/"${createHash('sha256').update(html).digest('base64url').slice(0, 22)}"`
}

function describeHome(channel: ShopChannel, layout: Layout, catalogue: Catalogue): SitePage {
  const { home } = catalogue
  const body = renderHome(home, catalogue, channel)
  return {
    ...describeContent(home, channel, layout),
    priority: 1,
    render: (visitor) => layout(toSheet(channel, 'cms', home.title[channel.language], '/', body), visitor),
  }
}

function describeContent(page: ContentPage, channel: ShopChannel, layout: Layout): SitePage {
  const path = `/${page.path[channel.language]}`
  const title = page.title[channel.language]
  return {
    type: 'cms',
    path,
    tags: [`cms-page-${page.id}`, ...channel.tags],
    cacheControl: shared,
    priority: 0.4,
    updatedAt: page.updatedAt,
    validated: true,
    render: (visitor) => layout(toSheet(channel, 'cms', title, path, renderContent(page, channel)), visitor),
  }
}

function describeListings(category: Category, channel: ShopChannel, layout: Layout): SitePage[] {
  const title = category.name[channel.language]
  const updatedAt = new Date(Math.max(...category.products.map((product) => product.updatedAt.getTime())))
  return Array.from({ length: listingPages(category) }, (_, index) => {
    const number = index + 1
    const path = `/${category.path[channel.language]}${number === 1 ? '' : `?p=${number}`}`
    const listing = [`product-listing-${category.id}`, `category-route-${category.id}`]
    return {
      type: number === 1 ? 'categories' : 'listings',
      path,
      // Both bear both tags: a change of the category or of what it lists is seen on each of its pages.
      tags: [...(number === 1 ? listing.toReversed() : listing), `cms-page-${category.cmsPageId}`, ...channel.tags],
      cacheControl: number === 1 ? sharedWithStale : shared,
      priority: number === 1 ? (category.parent === null ? 0.9 : 0.8) : 0.3,
      updatedAt,
      validated: false,
      render: (visitor) =>
        layout(toSheet(channel, 'categories', title, path, renderListing(category, number, channel)), visitor),
    }
  })
}

function describeProduct(product: Product, channel: ShopChannel, layout: Layout): SitePage {
  const path = `/${product.path[channel.language]}`
  const title = product.name[channel.language]
  return {
    type: 'products',
    path,
    tags: [`product-${product.id}`, ...channel.tags],
    cacheControl: sharedWithStale,
    priority: 0.7,
    updatedAt: product.updatedAt,
    validated: true,
    render: (visitor) => layout(toSheet(channel, 'products', title, path, renderProduct(product, channel)), visitor),
  }
}

function describeBuyboxes(product: Product, channel: ShopChannel): SitePage[] {
  return product.finishes.map((finish) => ({
    type: 'buybox',
    path: buyboxPath(product, finish),
    tags: [`product-${product.id}`, ...channel.tags.filter((tag) => tag !== 'navigation')],
    cacheControl: 'public, s-maxage=600',
    priority: 0.2,
    updatedAt: product.updatedAt,
    validated: false,
    render: () => renderBuybox(product, finish, channel),
  }))
}

function toSheet(channel: ShopChannel, pageType: PageType, title: string, path: string, body: string) {
  return { title, description: `${title}. ${channel.name}`, canonical: `${channel.url}${path}`, pageType, body }
}
