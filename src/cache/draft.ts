import { formatHttpDate } from '../lib/http-date.ts'
import type { Encoding, HeaderPair, Page, PageDraft, PageType } from '../pages/page.ts'
import { searchTags } from '../pages/search-tags.ts'
import { excludedStates } from './bypass.ts'
import { directivesOf } from './cache-control.ts'
import { isStrong } from './conditional.ts'
import { FieldNames, fieldValue, hasField, withoutFields } from './fields.ts'
import { tagsOf, visibleHeaders } from './forward.ts'
import { dateOf, lifetimesOf, type LifetimeRules, type Received } from './freshness.ts'
import type { Lookup } from './lookup.ts'
import { secondaryKey, varyNames } from './vary.ts'

export interface DraftOptions extends LifetimeRules {
  typeOf(page: { headers: readonly HeaderPair[]; tags: readonly string[]; target: string }): PageType
}

export interface Content {
  encoding: Encoding
  originalSize: number
  generationMs: number
  range: PageDraft['range']
  fragments?: readonly string[]
}

/** Fields that are never stored: each response gets its own, or they are meant for one visitor (RFC 9111 §3.1). */
const unstored = new FieldNames(['age', 'set-cookie', 'set-cookie2', 'content-length'])
/** With that of a coding that the cache changes. */
const unstoredDecoded = new FieldNames([...unstored, 'content-encoding'])

/**
 * Turns a storable response into a page.
 *
 * @param visible its fields that visitors see
 * @param isDecoded whether its Content-Encoding says nothing about the body any more
 */
export function toDraft(
  lookup: Lookup,
  response: Received,
  visible: readonly HeaderPair[],
  isDecoded: boolean,
  content: Content,
  options: DraftOptions,
): PageDraft {
  const { unstoredFields } = directivesOf(response.headers)
  const always = isDecoded ? unstoredDecoded : unstored
  const headers = withoutFields(
    visible,
    unstoredFields.length === 0 ? always : new FieldNames([...always, ...unstoredFields]),
  )
  if (!hasField(headers, 'date')) headers.push(['Date', formatHttpDate(dateOf(response))])
  const tags = tagsOf(response.headers)
  const names = varyNames(response.headers)
  return {
    key: lookup.key,
    url: lookup.url,
    channelId: lookup.channel.id,
    type: options.typeOf({
      headers: response.headers,
      tags,
      target: `${lookup.target.path}${lookup.target.query}`,
    }),
    tags: allTags(lookup, tags),
    status: response.status,
    headers,
    vary: secondaryKey(names === '*' ? [] : names, lookup),
    states: excludedStates(response.headers),
    ...lifetimesOf(response, options),
    ...content,
  }
}

/** The shop's tags, and those by which a purge of other URLs finds a page that answers them too. */
function allTags({ search, url }: Lookup, tags: readonly string[]): readonly string[] {
  return search === null ? tags : [...tags, ...searchTags(url)]
}

/** Fields that a 304 must not update, because they describe the body, which does not change (RFC 9111 §3.2). */
const bodyFields = new FieldNames([
  'content-length',
  'content-encoding',
  'content-range',
  'age',
  'set-cookie',
  'set-cookie2',
])

/** The fields of a page that a 304 confirms: those received replace the old ones (RFC 9111 §4.3.4). */
export function freshenedHeaders(page: Page, response: Received): HeaderPair[] {
  const own = fieldValue(page.headers, 'etag')
  // The tag is the page's, but may not be weak any more.
  const isWeak = own !== null && !isStrong(own)
  const update = withoutFields(visibleHeaders(response), isWeak ? new FieldNames([...bodyFields, 'etag']) : bodyFields)
  const updated = new Set(update.map(([name]) => name.toLowerCase()))
  const headers = [...page.headers.filter(([name]) => !updated.has(name.toLowerCase())), ...update]
  if (!updated.has('date')) {
    headers.splice(0, headers.length, ...withoutFields(headers, new FieldNames(['date'])), [
      'Date',
      formatHttpDate(dateOf(response)),
    ])
  }
  return headers
}

/**
 * A page updated by a 304, whose times start anew.
 *
 * @param all `freshenedHeaders`
 */
export function freshenedDraft(
  page: Page,
  all: readonly HeaderPair[],
  lookup: Lookup,
  response: Received,
  options: DraftOptions,
): PageDraft {
  const tags = tagsOf(response.headers)
  const age = response.headers.filter(([name]) => name.toLowerCase() === 'age')
  const lifetimes = lifetimesOf({ ...response, status: page.status, headers: [...all, ...age] }, options)
  const names = varyNames(all)
  return {
    ...page,
    headers: withoutFields(all, new FieldNames(directivesOf(all).unstoredFields)),
    tags: tags.length > 0 ? allTags(lookup, tags) : page.tags,
    states: hasField(response.headers, 'sw-invalidation-states') ? excludedStates(response.headers) : page.states,
    vary: secondaryKey(names === '*' ? [] : names, lookup),
    ...lifetimes,
  }
}
