import { canonicalUrl } from '../key.ts'
import type { ClassifyOptions, Lookup } from '../lookup.ts'
import { removeDotSegments } from '../target.ts'

/** The most includes of a page, those of its fragments counted too. */
export const mostIncludes = 32
/** How deep fragments may include fragments. */
export const deepest = 3

/** Where a fragment is. */
export interface Place {
  /** The request target, for the channel of the page. */
  target: string
  url: string
}

export interface PlaceRules {
  classifying: ClassifyOptions
  /** Whether fragments may be below a path, relative to its channel. */
  mayInclude(path: string): boolean
}

/** Words of a refusal, for operators. */
export type Refusal = string

/** Finds the fragment that an include names. Only the shop's own fragment paths on the page's channel are allowed. */
export function placeOf(
  src: string,
  page: Pick<Lookup, 'channel' | 'target' | 'url'>,
  rules: PlaceRules,
): Place | Refusal {
  const { channel } = page
  const { canonical, channels } = rules.classifying
  const raw = targetOf(src, page)
  if (raw === null) return 'not on this sales channel'
  if (raw.length > 8192) return 'its URL is too long'
  const target = canonical(raw)
  if (channels.find(channel.scheme, channel.host, target.path)?.id !== channel.id) return 'not on this sales channel'
  if (channels.ownPath(channel.scheme, channel.host, target.path) !== null) return 'not a path of the shop'
  if (!rules.mayInclude(target.path.slice(channel.path.length) || '/')) return 'not below cache.esiPaths'
  return { target: `${target.path}${target.query}`, url: canonicalUrl(channel, target) }
}

/** The request target of a URL reference (RFC 3986 §5.2); null for another site or what is no URL of a page. */
function targetOf(src: string, { channel, target }: Pick<Lookup, 'channel' | 'target'>): string | null {
  // Raw control characters, spaces and backslashes are read in different ways by different programs.
  if (!/^[^\x00-\x20\x7f\\]+$/.test(src)) return null
  const reference = src.split('#', 1)[0]!
  const site = `${channel.scheme}://${channel.host}`
  if (reference.startsWith(`${site}/`)) return reference.slice(site.length)
  if (reference.startsWith('//') || /^[a-z][a-z0-9+.-]*:/i.test(reference)) return null
  if (reference.startsWith('/')) return reference
  if (reference === '' || reference.startsWith('?')) return `${target.path}${reference}`
  const [path = '', ...query] = reference.split('?')
  const folder = target.path.slice(0, target.path.lastIndexOf('/') + 1)
  return [removeDotSegments(`${folder}${path}`), ...query].join('?')
}
