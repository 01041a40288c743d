import type { HeaderPair } from '../pages/page.ts'
import { decodedForms, isCommonBrowserValue } from './browser-values.ts'
import type { Lookup } from './lookup.ts'
import { findAny, shortestNeedle } from './search.ts'
import { varyNames } from './vary.ts'

/**
 * Minimum lengths: shorter values appear on any page by chance. Fields that browsers do not send are checked from fewer
 * characters on.
 */
const shortest = { ordinary: 6, other: shortestNeedle, piece: 6 }

/** Fields with a fixed grammar, whose values are not taken from a visitor. */
const grammatical = new Set([
  'cache-control',
  'cdn-cache-control',
  'vary',
  'content-type',
  'content-encoding',
  'content-length',
  'date',
  'expires',
  'last-modified',
  'age',
  'accept-ranges',
])

/** Fields that browsers send by themselves. */
const ordinary =
  /^(?:accept(?:-.*)?|user-agent|origin|dnt|priority|purpose|save-data|sec-.*|upgrade-insecure-requests|device-memory|downlink|dpr|ect|rtt|viewport-width|width|cookie)$/

/**
 * The name of a request field outside the key whose value appears in the response; null when none does. Such a response
 * must not be stored: web caches are poisoned through request fields that a shop reflects.
 *
 * @param sent the visitor's fields as the origin received them
 */
export function reflectedField(
  lookup: Pick<Lookup, 'keyedFields' | 'unkeyedCookies' | 'channel'>,
  sent: readonly HeaderPair[],
  headers: readonly HeaderPair[],
  body: Buffer,
): string | null {
  const identifying = distinct(identifyingValues(lookup, sent, varyNames(headers)))
  if (identifying.length === 0) return null
  const head = headers
    .filter(([name]) => !grammatical.has(name.toLowerCase()))
    .map(([, value]) => value)
    .join('\n')
  const text = `${head}\n${body.toString('latin1')}`.toLowerCase()
  const names = new Map(
    identifying.flatMap(({ name, value }) => spellings(value.toLowerCase()).map((form) => [form, name])),
  )
  const found = findAny(text, names.keys())
  return found === null ? null : names.get(found)!
}

/** Removes duplicates, so that a value is searched once however often a visitor repeats it. */
function distinct(values: readonly IdentifyingValue[]): IdentifyingValue[] {
  return [...new Map(values.map((each) => [each.value.toLowerCase(), each])).values()]
}

interface IdentifyingValue {
  name: string
  value: string
}

/** The values of a request that identify this visitor, in pieces that a page could contain. */
function identifyingValues(
  { keyedFields, unkeyedCookies, channel }: Pick<Lookup, 'keyedFields' | 'unkeyedCookies' | 'channel'>,
  sent: readonly HeaderPair[],
  vary: readonly string[] | '*',
): IdentifyingValue[] {
  const values: IdentifyingValue[] = []
  const own = new Set([channel.host, `${channel.scheme}://${channel.host}`, channel.url])
  const add = (name: string, value: string, least: number) => {
    if (value.length >= least && !own.has(value)) values.push({ name, value })
  }
  for (const [spelt, value] of sent) {
    const name = spelt.toLowerCase()
    if (
      vary.includes(name) ||
      keyedFields.includes(name) ||
      name === 'cookie' ||
      isCommonBrowserValue(name, value) ||
      own.has(value)
    )
      continue
    for (const form of decodedForms(value)) {
      add(name, form, ordinary.test(name) ? shortest.ordinary : shortest.other)
      for (const element of elementsOf(name, form)) add(name, element, shortest.other)
      // A page may contain only the host of a URL, for example.
      for (const piece of piecesOf(form)) add(name, piece, shortest.piece)
    }
  }
  if (unkeyedCookies === null || vary.includes('cookie')) return values
  for (const cookie of unkeyedCookies.split('; ')) {
    for (const value of decodedForms(cookie.slice(cookie.indexOf('=') + 1))) {
      add('cookie', value, shortest.ordinary)
      // Consent words and the like appear on every page: only potential markup or URLs are split.
      if (/[<>"'/:]/.test(value)) for (const piece of piecesOf(value)) add('cookie', piece, shortest.piece)
    }
  }
  return values
}

/** Words of User-Agent and Accept that appear on pages by chance. */
const ownWords =
  /^(?:mozilla|applewebkit|khtml|like|gecko|chrome|safari|firefox|mobile|version|windows|linux|android|macintosh|intel|iphone|ipad|tablet|ubuntu|x86_64|wow64|win64|compatible|build|text|html|image|application|audio|video|font|null|https?)$/i

/**
 * The elements of a list and both sides of an equals sign. For fields that browsers fill with words of their own, each
 * word too.
 */
function elementsOf(name: string, value: string): string[] {
  const elements = value.split(/[,;=]/).map((element) => element.trim().replace(/^"(.*)"$/, '$1'))
  if (!ordinary.test(name)) return elements
  return [...elements, ...value.split(/[^\w.-]+|[._](?=\D)/)].filter(
    (element) => /[a-z]/i.test(element) && !ownWords.test(element),
  )
}

/** Words with a digit, a dot or a dash: other words appear on too many pages. */
function piecesOf(value: string): string[] {
  return (value.match(/[\w.-]+/g) ?? []).filter((piece) => /[a-z]/i.test(piece) && /[\d.-]/.test(piece))
}

const named: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }

/** A lower-case value in every spelling that a page may use: as it is, and escaped for HTML, a URL or a script. */
function spellings(value: string): string[] {
  const html = value.replace(/[&<>"]/g, (char) => `&${named[char]!};`)
  const url = encodeURIComponent(value).toLowerCase()
  return [
    ...new Set([
      value,
      value.replace(/[<>]/g, (char) => `&${named[char]!};`),
      html,
      ...['&#039;', '&#39;', '&#x27;', '&apos;'].map((quote) => html.replaceAll("'", quote)),
      html.replaceAll('&quot;', '&#34;').replaceAll("'", '&#39;'),
      url,
      url.replaceAll('%20', '+'),
      url.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`),
      JSON.stringify(value).slice(1, -1),
      JSON.stringify(value).slice(1, -1).replaceAll('/', '\\/'),
      JSON.stringify(value)
        .slice(1, -1)
        .replaceAll('/', '\\/')
        .replace(/[<>&']/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
    ]),
  ]
}
