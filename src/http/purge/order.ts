import type { HeaderPair } from '../../pages/page.ts'
import type { Channel } from '../../cache/channel.ts'
import type { Channels } from '../../cache/channels.ts'
import { fieldLines, fieldValue, hasField } from '../../cache/fields.ts'
import { canonicalUrl } from '../../cache/key.ts'
import type { Canonicaliser } from '../../cache/target.ts'

/** The pages that a purge request names. */
export type PurgeOrder =
  | { kind: 'tags'; tags: string[]; soft: boolean; hard?: true }
  /** Absolute, canonical URLs. */
  | { kind: 'urls'; urls: string[] }
  /** A regular expression that is matched anywhere in path and query, on every channel. */
  | { kind: 'pattern'; pattern: string }
  | { kind: 'all' }

export interface PurgeRequest {
  method: string
  /** Origin-form. */
  target: string
  /** Normalised (`normaliseHost`). */
  host: string
  headers: readonly HeaderPair[]
}

/** The channels whose URLs a path may name. */
export interface PurgeSite {
  channels: Channels
  canonical: Canonicaliser
}

/**
 * Converts a PURGE, BAN or PURGEKEYS request into the order that it gives. A request with tags never purges its path: shops send `PURGE /`
 * with their tags.
 *
 * @param softly whether every purge by tag only marks pages as stale (`purge.softPurge`)
 */
export function toPurgeOrder(request: PurgeRequest, site: PurgeSite, softly: boolean): PurgeOrder {
  if (request.method === 'BAN') return banOrder(request)
  const hard = fieldLines(request.headers, 'xkey')
  const soft = fieldLines(request.headers, 'xkey-softpurge')
  // Next to `xkey`, `xkey-softpurge` is a flag; alone it carries the tags, as in FOSHttpCache's VCL.
  const lines = hard.length > 0 ? hard : soft
  // `xkey-hardpurge: 1` asks for a removal, whatever the configuration says.
  if (hard.length > 0 && hasField(request.headers, 'xkey-hardpurge'))
    return { kind: 'tags', tags: splitTags(hard), soft: false, hard: true }
  if (lines.length > 0) return { kind: 'tags', tags: splitTags(lines), soft: softly || soft.length > 0 }
  if (request.method === 'PURGEKEYS') return { kind: 'tags', tags: [], soft: softly }
  return { kind: 'urls', urls: urlsOf(request, site) }
}

/** Splits lists of tags, which are separated by spaces, tabs and commas (varnish-modules, vmod_xkey). */
export function splitTags(lines: readonly string[]): string[] {
  return [...new Set(lines.flatMap((line) => line.split(/[\t ,]+/)))].filter((tag) => tag !== '')
}

/** The longest field line, in bytes: Varnish accepts 8 KiB by default (`http_resp_hdr_len`). */
const longestLine = 7500

/** Tags as `xkey` fields of an answer to another cache, split into lines that it accepts. */
export function tagFields(tags: readonly string[]): HeaderPair[] {
  const fields: HeaderPair[] = []
  let line = ''
  for (const tag of tags) {
    if (line !== '' && line.length + tag.length >= longestLine) {
      fields.push(['xkey', line])
      line = ''
    }
    line = line === '' ? tag : `${line} ${tag}`
  }
  return line === '' ? fields : [...fields, ['xkey', line]]
}

/** `BAN /regex`, or `BAN /` with the expressions of FOSHttpCache in its fields. */
function banOrder({ target, headers }: PurgeRequest): PurgeOrder {
  if (target !== '/') return { kind: 'pattern', pattern: target }
  const tags = tagsOfExpression(fieldValue(headers, 'x-cache-tags'))
  if (tags !== null) return { kind: 'tags', tags, soft: false, hard: true }
  const pattern = fieldValue(headers, 'x-url')
  return pattern === null || pattern === '' || pattern === '.*' ? { kind: 'all' } : { kind: 'pattern', pattern }
}

/** The tags in FOSHttpCache's `(^|,)(a|b)(,|$)`, each quoted as `preg_quote` does; null for any other expression. */
function tagsOfExpression(expression: string | null): string[] | null {
  const list = /^\(\^\|,\)\((.+)\)\(,\|\$\)$/.exec(expression ?? '')?.[1]
  if (list === undefined) return null
  const tags = list.split(/(?<!\\)\|/)
  // A special character without a backslash is no part of a quoted tag.
  if (tags.some((tag) => /[()[\]{}*+?^$|]/.test(tag.replace(/\\./g, '')))) return null
  return splitTags(tags.map((tag) => tag.replace(/\\(.)/g, '$1')))
}

/** The URLs of a path: on the channel that Host names with either scheme, else on every channel that has such a path. */
function urlsOf({ target, host }: PurgeRequest, { channels, canonical }: PurgeSite): string[] {
  const place = canonical(target)
  const named = ['http', 'https']
    .map((scheme) => channels.find(scheme, host, place.path))
    .filter((channel) => channel !== null)
  const matching: readonly Channel[] =
    named.length > 0
      ? named
      : channels.all.filter(({ scheme, host: own, path }) => channels.find(scheme, own, place.path)?.path === path)
  // A path of no channel is purged under the given Host: it is logged and delivered to the reverse proxies.
  if (matching.length === 0) return [`http://${host}${place.path}${place.query}`]
  return [...new Set(matching.map((channel) => canonicalUrl(channel, place)))]
}
