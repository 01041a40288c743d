import type { IncomingHttpHeaders } from 'node:http'
import { lacksLifetime } from '../../cache/lifetime-advice.ts'
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

/** What the home page of a shop tells about it; `lacksLifetime`: see `lifetimeAdvice`. */
export interface FoundShop {
  kind: Shop
  lacksLifetime: boolean
}

/** Response fields as names and values. */
export function toPairs(headers: IncomingHttpHeaders): [name: string, value: string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((each): [string, string] => [name, each]),
  )
}

/** Asks the origin of a shop for its home page. Null when it does not answer. */
export async function findShop(shop: { url: string; origin: string }, signal: AbortSignal): Promise<FoundShop | null> {
  const { host, pathname } = new URL(shop.url)
  try {
    const { status, headers } = await probe(new URL(`${pathname.replace(/\/$/, '')}/`, shop.origin), { host, signal })
    const lacks = lacksLifetime(status, toPairs(headers), { defaultTtl: 0, now: Date.now() })
    return { kind: shopOf(headers), lacksLifetime: lacks }
  } catch {
    return null
  }
}
