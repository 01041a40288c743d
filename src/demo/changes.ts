import { PagecacheError } from '../errors.ts'
import { Browser, type PageVisit } from './browser.ts'

export interface ChangesDemo {
  /** Public URL of the storefront. */
  url: string
  shop: { url: string }
  /** Bearer token of the shop's admin API. */
  token: string
  /** Path of a product. */
  page: string
  write(text: string): void
  /** Runs a pagecache command and shows it with its output. */
  show(argv: readonly string[]): Promise<void>
}

/**
 * Changes a price and the menu in the shop, has it purge as Shopware does, and shows what visitors get. Throws CHECK_FAILED if a visitor
 * gets an old page after the purge.
 */
export async function showChanges({ url, shop, token, page, write, show }: ChangesDemo): Promise<void> {
  const visitor = new Browser()
  const admin = async (method: string, path: string, value?: object) => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(shop.url + path, { method, headers, ...(value && { body: JSON.stringify(value) }) })
    if (answer.status !== 204) throw new PagecacheError('CHECK_FAILED', `${method} ${path} answered ${answer.status}.`)
  }
  const say = (what: string, visit: PageVisit) =>
    write(`  ${what.padEnd(34)}${priceOf(visit).padEnd(9)}${String(visit.headers['cache-status'] ?? '')}\n`)
  try {
    write('\nA price and a category change. The shop gathers the tags until its next task, and then purges them:\n')
    const before = await visitor.get(url + page)
    say('Product, before', before)
    await admin('PATCH', `/api/product/${idIn(before, /data-product="(\w+)"/)}`, { price: 4_200 })
    await admin('PATCH', `/api/category/${idIn(before, /<nav[\s\S]*?data-category="(\w+)"/)}`, { name: 'Bargains' })
    say('Product, changed but not purged', await visitor.get(url + page))
    await admin('DELETE', '/api/_action/cache-delayed')
    const after = await visitor.get(url + page)
    say('Product, purged', after)
    const other = await visitor.get(`${url}/about-us`)
    say('Another page', other)
    if (!priceOf(after).includes('42') || !after.text.includes('Bargains') || !other.text.includes('Bargains'))
      throw new PagecacheError('CHECK_FAILED', 'A visitor got an old page after the purge.')
    write('Both show the new menu.\n')
    await show(['reverse-proxy:recent', '--limit', '5'])
  } finally {
    visitor.close()
  }
}

/** The price in the buy box; empty if the page has none. */
function priceOf({ text }: PageVisit): string {
  return /class="buybox"[\s\S]*?class="price">([^<]+)</.exec(text)?.[1] ?? ''
}

function idIn({ text }: PageVisit, pattern: RegExp): string {
  const id = pattern.exec(text)?.[1]
  if (id === undefined) throw new PagecacheError('CHECK_FAILED', 'The product page names no product or category.')
  return id
}
