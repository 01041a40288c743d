import type { Channel } from '../../cache/channel.ts'
import type { Channels } from '../../cache/channels.ts'
import { lenientPath, type Canonicaliser } from '../../cache/target.ts'

/** How a URL relates to a channel. */
export type PageUrlClass =
  | { kind: 'page'; url: string; target: string; depth: number }
  /** On another host, port, scheme or channel, or with user info. */
  | { kind: 'foreign' }
  /** Unparsable, too long, or with control characters. */
  | { kind: 'malformed' }
  /** Bypassed by the cache, an endpoint of the daemon itself, or likely to have a side effect. */
  | { kind: 'excluded' }

export interface PageUrlRules {
  channels: Channels
  canonicalise: Canonicaliser
  /** Whether the cache bypasses a path (relative to its channel). */
  isBypassed: (path: string) => boolean
  locLength: number
}

// oxlint-disable-next-line no-control-regex
const unfit = /[\u0000-\u001f\u007f-\u009f\ufffd]/

/** The end of a path segment that logs out, unsubscribes or adds to a cart or list. */
const actingSegment =
  /(?:^|[-_])(?:log-?out|log-?off|sign-?out|abmelden|unsubscribe|add[-_]?to[-_]?(?:cart|basket|bag|wishlist|compare))(?:\.\w+)?$/
const actingSegments = new Set([
  'checkout',
  'account',
  'my-account',
  'cart',
  'basket',
  'warenkorb',
  'wp-login.php',
  'wp-admin',
  'wp-cron.php',
  'xmlrpc.php',
])
const actingParameter =
  /^(?:_wpnonce|wc-ajax|doing_wp_cron|(?:undo|remove|removed)[-_]item|customer-logout|log-?out|sign-?out|unsubscribe|add[-_]?to[-_]?(?:cart|basket|bag|wishlist|compare))$/
const verbParameter = /^(?:action|do|op|cmd|task|fnc)$/
const actingVerb =
  /^(?:log-?out|sign-?out|add|add[-_]?to[-_]?(?:cart|basket|bag|wishlist|compare)|tobasket|buy|remove|delete|unsubscribe|lostpassword|resetpass|register)$/

/**
 * Classifies a URL that came from the network. The parsed URL is compared, so that no spelling of a foreign address (`//evil`,
 * `http:\\evil`, `2130706433`, user info) passes as the channel's own.
 */
export function classifyPageUrl(loc: string, channel: Channel, rules: PageUrlRules): PageUrlClass {
  if (loc.length > rules.locLength || unfit.test(loc) || !URL.canParse(loc, channel.url)) return { kind: 'malformed' }
  const url = new URL(loc, channel.url)
  if (url.username !== '' || url.password !== '') return { kind: 'foreign' }
  const { path, query } = rules.canonicalise(url.pathname + url.search)
  if (rules.channels.find(url.protocol.slice(0, -1), url.host, path) !== channel) return { kind: 'foreign' }
  const relative = path.slice(channel.path.length) || '/'
  if (
    rules.channels.ownPath(channel.scheme, channel.host, path) !== null ||
    rules.isBypassed(relative) ||
    hasSideEffect(relative, url.searchParams)
  )
    return { kind: 'excluded' }
  const target = path + query
  return { kind: 'page', url: `${channel.scheme}://${channel.host}${target}`, target, depth: depthOf(relative) }
}

/** Resolves a path below the channel's URL, unless it already starts with the channel's path. Absolute URLs are returned unchanged. */
export function belowChannel(location: string, channel: Pick<Channel, 'url' | 'path'>): string {
  if (!location.startsWith('/') || /^\/[/\\]/.test(location)) return location
  const after = location.startsWith(channel.path) ? location.charAt(channel.path.length) : null
  return after === '' || after === '/' || after === '?'
    ? `${channel.url.slice(0, channel.url.length - channel.path.length)}${location}`
    : channel.url + location
}

/** Whether fetching a URL is likely to change something: log out, fill a basket, unsubscribe. */
function hasSideEffect(path: string, parameters: URLSearchParams): boolean {
  const segments = lenientPath(path).split('/')
  if (segments.some((segment) => actingSegments.has(segment) || actingSegment.test(segment))) return true
  for (const [name, value] of parameters) {
    const key = name.toLowerCase()
    if (actingParameter.test(key) || (verbParameter.test(key) && actingVerb.test(value.toLowerCase()))) return true
  }
  return false
}

function depthOf(path: string): number {
  return path.split('/').filter((segment) => segment !== '').length
}
