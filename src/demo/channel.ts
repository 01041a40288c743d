import { trimEndingSlashes } from '../lib/url.ts'
import { idOf } from './random.ts'
import type { Context } from './shopware.ts'
import type { Language, Text } from './vocabulary.ts'

/** One storefront of the demo shop. */
export interface ShopChannel {
  id: string
  name: string
  language: Language
  /** The public URL, without a trailing slash. */
  url: string
  /** The path part of `url`: "" or "/de". */
  prefix: string
  /** Cache tags of every page of this storefront. */
  tags: readonly string[]
  languageId: string
}

/** A storefront as visitors in one context see it. */
export interface ChannelView extends ShopChannel {
  context: Context
  /** Formats a price in cents of the default currency. */
  price(cents: number): string
}

/** The currencies of the shop, by symbol, and how many units make a euro. */
export const currencies = { EUR: { symbol: '€', rate: 1 }, USD: { symbol: '$', rate: 1.1 } } as const

const dealerDiscount = 0.1

export function viewOf(channel: ShopChannel, context: Context): ChannelView {
  const { symbol, rate } = currencies[context.currency as keyof typeof currencies] ?? currencies.EUR
  const factor = (context.group === 'dealers' ? 1 - dealerDiscount : 1) * rate
  const price = (cents: number) => formatPrice(channel.language, Math.round(cents * factor), symbol)
  return { ...channel, context, price }
}

export type PublicUrls = Readonly<Record<Language, string>>

const names: Text = { en: 'Harbour & Pine', de: 'Hafen & Kiefer' }
const ids: Text = { en: '0190c0de-0000-7000-8000-000000000001', de: '0190c0de-0000-7000-8000-000000000002' }

/** Creates the two storefronts at the given public URLs, English first. */
export function createChannels(urls: PublicUrls): ShopChannel[] {
  return (['en', 'de'] as const).map((language) => {
    const url = trimEndingSlashes(urls[language])
    const id = ids[language]
    const bareId = id.replaceAll('-', '')
    return {
      id,
      name: names[language],
      language,
      url,
      prefix: trimEndingSlashes(new URL(url).pathname),
      languageId: idOf(`language:${language}`),
      tags: [
        'navigation',
        `translator-${idOf(`snippets:${language}`)}`,
        `theme-config-${idOf('theme')}`,
        `system.config-${bareId}`,
      ],
    }
  })
}

/**
 * Finds the storefront of a request: the longest matching path prefix among the storefronts of its host, or among all if the host is
 * unknown (a direct request to the shop). Null if no prefix matches.
 */
export function findChannel(channels: readonly ShopChannel[], host: string, path: string): ShopChannel | null {
  const ofHost = channels.filter((channel) => new URL(channel.url).host === host)
  const candidates = (ofHost.length > 0 ? ofHost : channels).filter(
    ({ prefix }) => path === prefix || path.startsWith(`${prefix}/`),
  )
  return candidates.toSorted((a, b) => b.prefix.length - a.prefix.length)[0] ?? null
}

/** Formats a price in cents. */
function formatPrice(language: Language, cents: number, symbol: string): string {
  const whole = Math.floor(cents / 100)
  const rest = String(cents % 100).padStart(2, '0')
  return language === 'de' ? `${whole},${rest}&nbsp;${symbol}` : `${symbol}${whole}.${rest}`
}
