import type { Channels } from './channel.ts'
import { canonicalUrl } from './key.ts'
import type { Canonicaliser } from './target.ts'

/** What URLs are made canonical with: the same as for visitors. */
export interface Naming {
  channels: Channels
  canonical: Canonicaliser
}

/** The canonical form of an absolute URL, and whether it belongs to a channel; null where it is none. */
export function toCanonicalUrl(url: string, { channels, canonical }: Naming): { url: string; known: boolean } | null {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return null
  const { protocol, host, pathname, search, username, password } = new URL(url)
  if (username !== '' || password !== '') return null
  const scheme = protocol.slice(0, -1)
  const target = canonical(`${pathname}${search}`)
  const channel = channels.find(scheme, host, target.path)
  return { url: canonicalUrl(channel ?? { scheme, host }, target), known: channel !== null }
}
