import type { Channels } from './channels.ts'
import { canonicalUrl } from './key.ts'
import type { ClassifyOptions } from './lookup.ts'
import { reduced } from './no-vary-search.ts'
import type { Canonicaliser } from './target.ts'

/** The rules with which URLs are canonicalised, identical to those for visitors' requests. */
export interface UrlRules {
  channels: Channels
  canonical: Canonicaliser
}

/** The canonical form of an absolute URL and whether a channel has it; null for an invalid URL. */
export function toCanonicalUrl(url: string, rules: UrlRules): { url: string; known: boolean } | null {
  const found = resolve(url, rules)
  return found && { url: canonicalUrl(found.channel ?? found, found.target), known: found.channel !== null }
}

/** The URL of the page that visitors of a URL get; it may lack parameters that the shop ignores. Null for an invalid URL. */
export function toPageUrl(url: string, rules: UrlRules & Pick<ClassifyOptions, 'search'>): string | null {
  const found = resolve(url, rules)
  if (found === null) return null
  const { channel, target } = found
  const search = channel === null ? null : (rules.search?.get(channel, target) ?? null)
  return canonicalUrl(channel ?? found, search === null ? target : reduced(target, search))
}

function resolve(url: string, { channels, canonical }: UrlRules) {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return null
  const { protocol, host, pathname, search, username, password } = new URL(url)
  if (username !== '' || password !== '') return null
  const scheme = protocol.slice(0, -1)
  const target = canonical(`${pathname}${search}`)
  return { scheme, host, target, channel: channels.find(scheme, host, target.path) }
}
