import { gzipSync } from 'node:zlib'
import { escapeHtml } from '../lib/safe-text.ts'
import type { PageType } from '../pages/page.ts'
import type { Site } from './site.ts'

/** One sitemap file for each type of page, as in a shop that splits its sitemap by source. */
const files: readonly PageType[] = ['cms', 'categories', 'products', 'listings', 'buybox']

/** The sitemap index and its gzip children, by path below the channel's prefix. */
export function createSitemaps(site: Site): ReadonlyMap<string, Buffer> {
  const children = files.map(
    (type) => [`/sitemap/${site.channel.language}-${type}.xml.gz`, drawSitemap(site, type)] as const,
  )
  const entries = children.map(
    ([path]) =>
      `<sitemap><loc>${escapeHtml(site.channel.url + path)}</loc><lastmod>${lastEdit(site)}</lastmod></sitemap>`,
  )
  const index = toXml('sitemapindex', entries)
  return new Map([['/sitemap.xml', Buffer.from(index)], ...children])
}

/** The robots.txt of the host, with the sitemap of each storefront. The buybox fragments stay allowed, so that they can be warmed. */
export function drawRobots(sites: readonly Site[]): string {
  const rules = sites.flatMap(({ channel }) =>
    ['account', 'checkout', 'widgets/checkout'].map((path) => `Disallow: ${channel.prefix}/${path}/`),
  )
  const sitemaps = sites.map(({ channel }) => `Sitemap: ${channel.url}/sitemap.xml`)
  return ['User-agent: *', ...rules, '', ...sitemaps, ''].join('\n')
}

function drawSitemap(site: Site, type: PageType): Buffer {
  const entries = [...site.pages.values()]
    .filter((page) => page.type === type)
    .map(
      (page) =>
        `<url><loc>${escapeHtml(site.channel.url + page.path)}</loc><lastmod>${toDate(page.updatedAt)}</lastmod><changefreq>daily</changefreq><priority>${page.priority.toFixed(1)}</priority></url>`,
    )
  return gzipSync(toXml('urlset', entries))
}

function lastEdit(site: Site): string {
  return toDate(new Date(Math.max(...[...site.pages.values()].map((page) => page.updatedAt.getTime()))))
}

function toDate(moment: Date): string {
  return moment.toISOString().slice(0, 10)
}

function toXml(root: 'sitemapindex' | 'urlset', entries: readonly string[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${entries.join('\n')}\n</${root}>\n`
}
