import { createHash } from 'node:crypto'
import type { PageType } from '../pages/page.ts'
import type { Catalogue, Category, ContentPage, Product } from './catalogue.ts'
import { viewOf, type ShopChannel } from './channel.ts'
import { fragmentPaths, type Layout } from './layout.ts'
import {
  buyboxPath,
  listingPages,
  renderBuybox,
  renderContent,
  renderHome,
  renderListing,
  renderProduct,
} from './page-views.ts'
import type { Context } from './shopware.ts'

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
  /** Whether it is a page with header and footer; false for a part of one. */
  isWhole: boolean
  render(context: Context, asFragments: boolean): string
}

export interface Site {
  channel: ShopChannel
  layout: Layout
  /** By `path`. */
  pages: ReadonlyMap<string, SitePage>
  /** Header and footer, by `path`. */
  fragments: ReadonlyMap<string, SitePage>
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
  const byPath = (list: readonly SitePage[]) => new Map(list.map((page) => [page.path, page]))
  return { channel, layout, pages: byPath(pages), fragments: byPath(describeFragments(channel, layout)) }
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
  return {
    ...describeContent(home, channel, layout),
    priority: 1,
    render: (context, asFragments) => {
      const body = renderHome(home, catalogue, viewOf(channel, context))
      return layout.page(toSheet(channel, 'cms', home.title[channel.language], '/', body), context, asFragments)
    },
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
    isWhole: true,
    render: (context, asFragments) =>
      layout.page(toSheet(channel, 'cms', title, path, renderContent(page, channel)), context, asFragments),
  }
}

function describeListings(category: Category, channel: ShopChannel, layout: Layout): SitePage[] {
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
      isWhole: true,
      render: (context, asFragments) => {
        const body = renderListing(category, number, viewOf(channel, context))
        const sheet = toSheet(channel, 'categories', category.name[channel.language], path, body)
        return layout.page(sheet, context, asFragments)
      },
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
    get updatedAt() {
      return product.updatedAt
    },
    validated: true,
    isWhole: true,
    render: (context, asFragments) => {
      const body = renderProduct(product, viewOf(channel, context))
      return layout.page(toSheet(channel, 'products', title, path, body), context, asFragments)
    },
  }
}

function describeBuyboxes(product: Product, channel: ShopChannel): SitePage[] {
  return product.finishes.map((finish) => ({
    type: 'buybox',
    path: buyboxPath(product, finish),
    tags: [`product-${product.id}`, ...channel.tags.filter((tag) => tag !== 'navigation')],
    cacheControl: 'public, s-maxage=600',
    priority: 0.2,
    get updatedAt() {
      return product.updatedAt
    },
    validated: false,
    isWhole: false,
    render: (context) => renderBuybox(product, finish, viewOf(channel, context)),
  }))
}

/** Header and footer, which all pages share from Shopware 6.7 on. */
function describeFragments(channel: ShopChannel, layout: Layout): SitePage[] {
  const common = {
    type: 'cms',
    cacheControl: shared,
    priority: 0,
    updatedAt: new Date(0),
    validated: false,
    isWhole: false,
  } as const
  return [
    { ...common, path: fragmentPaths.header, tags: channel.tags, render: (context) => layout.header(context) },
    { ...common, path: fragmentPaths.footer, tags: channel.tags, render: () => layout.footer() },
  ]
}

function toSheet(channel: ShopChannel, pageType: PageType, title: string, path: string, body: string) {
  return { title, description: `${title}. ${channel.name}`, canonical: `${channel.url}${path}`, pageType, body }
}
