import type { HeaderPair } from '../pages/page.ts'
import { decodedForms, isCommonBrowserValue } from './browser-values.ts'
import { fieldValue } from './fields.ts'
import type { Lookup } from './lookup.ts'
import { findAny, shortestNeedle } from './search.ts'
import { varyNames } from './vary.ts'

/**
 * Shorter values appear on any page by chance; those of fields that no browser sends are looked for from fewer characters on, and as whole
 * words from the first.
 */
const shortest = { ordinary: 6, other: shortestNeedle, piece: 6, word: 3 }

/** Fields of a fixed grammar: what stands in them was not taken from a visitor. */
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
  /^(?:accept(?:-(?:charset|encoding|language))?|user-agent|origin|dnt|priority|purpose|save-data|sec-.*|upgrade-insecure-requests|device-memory|downlink|dpr|ect|rtt|viewport-width|width|cookie)$/

/**
 * The name of a request field outside the key whose value stands in the response; null where none does. What one visitor sent
 * must not become everybody's page: web caches are poisoned through fields that a shop reflects.
 *
 * @param sent the visitor's fields as the origin got them
 */
export function reflectedField(
  question: Pick<Lookup, 'keyedFields' | 'unkeyedCookies' | 'channel' | 'target'>,
  sent: readonly HeaderPair[],
  headers: readonly HeaderPair[],
  body: Buffer,
): string | null {
  const vary = varyNames(headers)
  const redirecting = redirectingField(question, sent, headers, vary)
  if (redirecting !== null) return redirecting
  const all = tellingValues(question, sent, vary)
  const telling = distinct(all.filter(({ whole }) => !whole))
  const short = new Map(all.filter(({ whole }) => whole).map(({ name, value }) => [value.toLowerCase(), name]))
  if (telling.length === 0 && short.size === 0) return null
  const head = headers
    .filter(([name]) => !grammatical.has(name.toLowerCase()))
    .map(([, value]) => value)
    .join('\n')
  const text = `${head}\n${body.toString('latin1')}`.toLowerCase()
  const word = findWord(text, short)
  if (word !== null) return short.get(word)!
  const names = new Map(
    telling.flatMap(({ name, value }) => spellings(value.toLowerCase()).map((form) => [form, name])),
  )
  const found = findAny(text, names.keys())
  return found === null ? null : names.get(found)!
}

/** Words up to this length (characters) are looked for by themselves, not inside other words. */
const longestWord = 5
const isWord = /^[a-z0-9]{1,5}$/i

/** The first of many short words, in lower case, that stands in a text by itself. One pass over the text. */
function findWord(text: string, words: ReadonlyMap<string, string>): string | null {
  if (words.size === 0) return null
  for (const [run] of text.matchAll(/[a-z0-9]+/g)) if (run.length <= longestWord && words.has(run)) return run
  return null
}

/** The name of a field or cookie outside the key of which a word stands in Location, where the URL of the request has no such word. */
function redirectingField(
  { keyedFields, unkeyedCookies, channel, target }: Parameters<typeof reflectedField>[0],
  sent: readonly HeaderPair[],
  headers: readonly HeaderPair[],
  vary: readonly string[] | '*',
): string | null {
  const location = fieldValue(headers, 'location')
  if (location === null) return null
  const own = `${channel.scheme}://${channel.host}`
  const path = location.startsWith(own) ? location.slice(own.length) : location
  const known = new Set(wordsOf(`${target.path}${target.query}`))
  const words = new Set(wordsOf(path).filter((word) => !known.has(word)))
  const leads = (value: string) => decodedForms(value).some((form) => wordsOf(form).some((word) => words.has(word)))
  const field = sent.find(([spelt, value]) => {
    const name = spelt.toLowerCase()
    const counts = name === 'accept-language' || !(ordinary.test(name) || isCommonBrowserValue(name, value))
    return counts && !vary.includes(name) && !keyedFields.includes(name) && leads(value)
  })
  if (field !== undefined) return field[0].toLowerCase()
  return unkeyedCookies !== null && !vary.includes('cookie') && leads(unkeyedCookies) ? 'cookie' : null
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z0-9]+/g) ?? []
}

/** A value is looked for once, however often a visitor repeats it. */
function distinct(values: readonly Telling[]): Telling[] {
  return [...new Map(values.map((each) => [each.value.toLowerCase(), each])).values()]
}

interface Telling {
  name: string
  value: string
  /** Looked for as a whole word. */
  whole: boolean
}

/** What of a request is this visitor's own, in pieces that a page could hold. */
function tellingValues(
  { keyedFields, unkeyedCookies, channel }: Pick<Lookup, 'keyedFields' | 'unkeyedCookies' | 'channel'>,
  sent: readonly HeaderPair[],
  vary: readonly string[] | '*',
): Telling[] {
  const values: Telling[] = []
  const own = new Set([channel.host, `${channel.scheme}://${channel.host}`, channel.url])
  const add: Add = (name, value, least, whole = false) => {
    if (value.length >= least && !own.has(value)) values.push({ name, value, whole })
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
      if (!ordinary.test(name)) for (const word of wordsIn(form)) add(name, word, 1, true)
      // Of a URL, say, a page may take the host alone.
      for (const piece of piecesOf(form)) add(name, piece, shortest.piece)
    }
  }
  if (unkeyedCookies === null || vary.includes('cookie')) return values
  for (const cookie of unkeyedCookies.split('; ')) {
    const equals = cookie.indexOf('=')
    const name = cookie.slice(0, equals)
    // Pages name their cookies in scripts: only a name that could be a URL is looked for.
    if (!/^[\w-]*$/.test(name)) for (const each of [name, ...piecesOf(name)]) add('cookie', each, shortest.other)
    for (const value of decodedForms(cookie.slice(equals + 1))) addCookieValue(value, add)
  }
  return values
}

type Add = (name: string, value: string, least: number, whole?: boolean) => void

/** What parts the elements of a list in a cookie. */
const separators = /[\s,;|:&=/]+/
const sentence = 4

/** The short elements of a value, and its words where it is no sentence. Counters of clients are left out: pages have such numbers by chance. */
function wordsIn(value: string): string[] {
  const elements = value.split(/[,;|:&=/]/).map((element) => element.trim())
  const words = value.split(/[\s"'()]+/, sentence)
  return [...elements, ...(words.length < sentence ? words : [])].filter(
    (word) => isWord.test(word) && !/^\d{1,3}$/.test(word),
  )
}

/** Values of cookies that stand on most pages: choices, consent and currencies. */
const choices =
  /^(?:\d{1,5}|[A-Z]{3}|[a-z]{1,2}|yes|not|off|all|new|any|true|false|none|null|undefined|auto|dark|light|default|desktop|mobile|tablet|grid|list|guest|user|allow|allowed|deny|denied|granted|accept|accepted|reject|rejected|necessary|required|essential|functional|performance|preferences|statistics|analytics|marketing|advertising|targeting|social|personalization|consent|stats)$/

/** Adds a cookie's value and its elements, as they would stand in a page. */
function addCookieValue(value: string, add: Add): void {
  if (!choices.test(value)) add('cookie', value, shortest.ordinary)
  // JSON holds words of consent that are on every page: only what could be markup or a URL is taken from it.
  const elements = /^\s*[{[]/.test(value) ? [] : value.split(separators)
  for (const element of elements) {
    const whole = isWord.test(element)
    if (!choices.test(element)) add('cookie', element, whole ? shortest.word : shortest.ordinary, whole)
  }
  if (/[<>"'/:]/.test(value)) for (const piece of piecesOf(value)) add('cookie', piece, shortest.piece)
}

/** Words of User-Agent and Accept that stand on pages by chance. */
const ownWords =
  /^(?:mozilla|applewebkit|khtml|like|gecko|chrome|safari|firefox|mobile|version|windows|linux|android|macintosh|intel|iphone|ipad|tablet|ubuntu|x86_64|wow64|win64|compatible|build|text|html|image|application|audio|video|font|null|https?)$/i

/**
 * The elements of a list, and what stands on either side of an equals sign. Of fields that browsers fill with words of their own also
 * each word.
 */
function elementsOf(name: string, value: string): string[] {
  const elements = value.split(/[,;=]/).map((element) => element.trim().replace(/^"(.*)"$/, '$1'))
  if (!ordinary.test(name)) return elements
  return [...elements, ...value.split(/[^\w.-]+|[._](?=\D)/)].filter(
    (element) => /[a-z]/i.test(element) && !ownWords.test(element),
  )
}

/** Words with a digit, a dot or a dash: others stand on too many pages. */
function piecesOf(value: string): string[] {
  return (value.match(/[\w.-]+/g) ?? []).filter((piece) => /[a-z]/i.test(piece) && /[\d.-]/.test(piece))
}

const named: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }

/** A value, in lower case, as a page may spell it: as it is, escaped for HTML, for a URL, for a script. */
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
