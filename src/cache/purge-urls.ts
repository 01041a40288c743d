import type { Channels } from './channels.ts'
import { canonicalUrl } from './key.ts'
import type { Canonicaliser } from './target.ts'

/** The rules with which URLs are canonicalised, identical to those for visitors' requests. */
export interface UrlRules {
  channels: Channels
  canonical: Canonicaliser
}

/** The canonical form of an absolute URL and whether a channel has it; null for an invalid URL. */
export function toCanonicalUrl(url: string, { channels, canonical }: UrlRules): { url: string; known: boolean } | null {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return null
  const { protocol, host, pathname, search, username, password } = new URL(url)
  if (username !== '' || password !== '') return null
  const scheme = protocol.slice(0, -1)
  const target = canonical(`${pathname}${search}`)
  const channel = channels.find(scheme, host, target.path)
  return { url: canonicalUrl(channel ?? { scheme, host }, target), known: channel !== null }
}
