import { onTestFinished } from 'vitest'
import type { CacheSettings } from '../../src/cache/build.ts'
import type { OriginRequest, Reply } from './scripted-origin.ts'
import { openSite, type Site } from './site.ts'

export const shared = { 'Cache-Control': 'public, s-maxage=60' }

export interface ShopOptions {
  /** Sends the hash only at login. */
  silent?: boolean
  /** Sends the hash in each response, as Shopware does from 6.7.6. */
  marks?: boolean
}

/** A shop that derives the customer group from the session only and sets the hash as Shopware does. */
export function shop({ silent = false, marks = false }: ShopOptions = {}): (request: OriginRequest) => Reply {
  return ({ method, target, fields }) => {
    const cookies = new Map((fields.get('cookie') ?? '').split('; ').map((pair) => pair.split('=') as [string, string]))
    if (method === 'POST') {
      const group = target.slice('/login/'.length)
      const session = `session-of-${group}-${fields.get('x-customer')}`
      return {
        fields: {
          'Cache-Control': 'private',
          'Set-Cookie': [`session=${session}; HttpOnly`, `sw-cache-hash=GROUP${group}; Path=/`],
        },
        body: 'in',
      }
    }
    const group = /^session-of-(\w)/.exec(cookies.get('session') ?? '')?.[1]
    const hash = group === undefined ? '' : `GROUP${group}`
    const differs = (cookies.get('sw-cache-hash') ?? '') !== hash
    const change =
      hash === ''
        ? 'sw-cache-hash=deleted; Expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0; Path=/'
        : `sw-cache-hash=${hash}; Path=/`
    return {
      fields: {
        ...shared,
        ...(differs && !silent ? { 'Set-Cookie': change } : {}),
        ...(marks && hash !== '' ? { 'sw-cache-hash': hash } : {}),
      },
      body: hash === '' ? 'page for all' : `page of ${hash}`,
    }
  }
}

export async function open(options?: ShopOptions, changes: Partial<CacheSettings> = {}) {
  const site = await openSite(changes)
  onTestFinished(() => site.close())
  site.answers(shop(options))
  return { site, ...visitors(site) }
}

export function visitors(site: Site) {
  const get = async (cookie: string | null, target = '/p', long = true) =>
    site.visit(target, { fields: cookie === null ? {} : { Cookie: cookie }, long })
  const login = async (group: string, customer: string) => {
    await site.visit(`/login/${group}`, { method: 'POST', fields: { 'X-Customer': customer } })
    return `session=session-of-${group}-${customer}; sw-cache-hash=GROUP${group}`
  }
  return { get, login }
}
