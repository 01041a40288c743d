import { onTestFinished } from 'vitest'
import { VarnishGateway } from '../../src/demo/gateway.ts'
import { CacheInvalidator } from '../../src/demo/invalidator.ts'
import { defaultStates, type ShopwareVersion } from '../../src/demo/shopware.ts'
import { Storefront } from '../../src/demo/storefront.ts'
import { parseCookies } from '../../src/cache/fields.ts'
import { cookieChanges } from '../../src/cache/set-cookie.ts'
import { shopwareSettings } from './shopware-preset.ts'
import { openSite, shopUrl, type Seen, type Site } from './site.ts'

export const product = '/aurora-lamp/HP-FAF067'

/** The demo shop of a version behind a cache with `shop: shopware`. `states`: as in `StorefrontOptions`. */
export async function openStorefront(version: ShopwareVersion, states: readonly string[] = defaultStates) {
  const site = await openSite({ ...shopwareSettings(), invalidateOnUnsafe: 'off', esi: 'auto', esiPaths: ['/_esi/'] })
  onTestFinished(() => site.close())
  const gateway = new VarnishGateway({ hosts: [], onError: () => {} })
  const shop = new Storefront({
    publicUrls: { en: shopUrl, de: `${shopUrl}/de` },
    fronted: true,
    shopware: { version, states },
    clock: site.now,
    invalidator: new CacheInvalidator(gateway, null),
    adminToken: null,
  })
  site.answers(async ({ method, target, fields, body }) => {
    const answer = await shop.handle({ method, target, field: (name) => fields.get(name), body })
    return { status: answer.status, fields: answer.headers, body: answer.body }
  })
  return { site, shop, browser: (cookies?: Record<string, string>) => new Browser(site, cookies) }
}

/** A browser with a cookie jar. */
export class Browser {
  readonly cookies = new Map<string, string>()
  readonly #site: Site

  constructor(site: Site, cookies: Record<string, string> = {}) {
    this.#site = site
    for (const [name, value] of Object.entries(cookies)) this.cookies.set(name, value)
  }

  async get(target: string): Promise<Seen> {
    return this.#send('GET', target)
  }

  /** Changes the session, and requests what the storefront's script does then. */
  async post(target: string, form: Record<string, string>): Promise<void> {
    await this.#send('POST', target, new URLSearchParams(form).toString())
    await this.#send('GET', '/checkout/offcanvas')
  }

  login(email: string): Promise<void> {
    return this.post('/account/login', { username: email, password: 'demo' })
  }

  async #send(method: string, target: string, body?: string): Promise<Seen> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await this.#site.visit(target, {
      method,
      fields: cookie === '' ? {} : { Cookie: cookie },
      ...(body !== undefined && { body }),
    })
    for (const [name, value] of cookieChanges(answer.headers, this.#site.now())) {
      if (value === null) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return answer
  }
}

/** The price in the buy box of a product. */
export function priceIn({ text }: Seen): string | undefined {
  return /class="buybox"[\s\S]*?class="price">([^<]+)</.exec(text)?.[1]
}

/** The states that a browser tells. */
export function statesIn(browser: Browser): string | null {
  const line = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  return parseCookies(line).get('sw-states') ?? null
}
