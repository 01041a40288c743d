import type { IncomingHttpHeaders } from 'node:http'
import type { Shop } from '../../config/presets.ts'
import { probe } from './probe.ts'

/** Cookies of Shopware's storefront: the session and those that select a variant. */
const shopwareCookie = /^(?:session-|sw-[\w-]+)=/

/** Which kind of shop sends these response fields. */
export function shopOf(headers: IncomingHttpHeaders): Shop {
  const hasField = Object.keys(headers).some((name) => name.startsWith('sw-'))
  const hasCookie = (headers['set-cookie'] ?? []).some((line) => shopwareCookie.test(line))
  return hasField || hasCookie ? 'shopware' : 'plain'
}

/** Asks the origin of a shop for its home page to find out what kind of shop it is. Null when it does not answer. */
export async function findShop(shop: { url: string; origin: string }, signal: AbortSignal): Promise<Shop | null> {
  const { host, pathname } = new URL(shop.url)
  try {
    const { headers } = await probe(new URL(`${pathname.replace(/\/$/, '')}/`, shop.origin), { host, signal })
    return shopOf(headers)
  } catch {
    return null
  }
}
