import { LRUCache } from 'lru-cache'
import { remembering } from '../lib/remembering.ts'
import type { HeaderPair } from '../pages/page.ts'
import { decodedForms, isCommonBrowserValue } from './browser-values.ts'
import { fieldValue } from './fields.ts'
import type { Lookup } from './lookup.ts'
import { NeedleSearch, shortestNeedle } from './search.ts'
import { varyNames } from './vary.ts'

/**
 * Minimum lengths of the values to search for, in characters: shorter ones appear on pages by chance. Values of fields that no browser
 * sends are searched for from a lower length, and as whole words from one character.
 */
const shortest = { ordinary: 6, other: shortestNeedle, piece: 6, word: 3 }

/** Response fields with a fixed grammar, which cannot contain a visitor's value. */
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

const isGrammatical = remembering((name) => grammatical.has(name.toLowerCase()))

/** Request fields that browsers send by themselves. */
const ordinary =
  /^(?:accept(?:-(?:charset|encoding|language))?|user-agent|origin|dnt|priority|purpose|save-data|sec-.*|upgrade-insecure-requests|device-memory|downlink|dpr|ect|rtt|viewport-width|width|cookie)$/

type Question = Pick<Lookup, 'keyedFields' | 'unkeyedCookies' | 'channel' | 'remembered'>

/**
 * Finds a request field outside the key whose value appears in the response, and returns its name; null if there is none. Attackers
 * poison web caches through fields that a shop reflects, so such a response must not become the page of other visitors.
 *
 * @param sent the request fields as the origin received them
 */
export function reflectedField(
  question: Question & Pick<Lookup, 'target'>,
  sent: readonly HeaderPair[],
  headers: readonly HeaderPair[],
  body: Buffer,
): string | null {
  const vary = varyNames(headers)
  const redirecting = redirectingField(question, sent, headers, vary)
  if (redirecting !== null) return redirecting
  const inputs = [sent, question.keyedFields, question.unkeyedCookies, question.channel]
  const { words, needles, search } = question.remembered.of(`wanted ${vary}`, inputs, () =>
    wantedIn(question, sent, vary),
  )
  if (needles.size === 0 && words.size === 0) return null
  let head = ''
  for (const [name, value] of headers) if (!isGrammatical(name)) head += `${value}\n`
  const word = words.size === 0 ? null : findWord(`${head}\n${body.toString('latin1')}`.toLowerCase(), words)
  if (word !== null) return words.get(word)!
  const found = search?.find(Buffer.from(head, 'latin1')) ?? search?.find(body) ?? null
  return found === null ? null : needles.get(found)!
}

/** What to search for, in lower case, with the name of the request field that it comes from. */
interface Wanted {
  /** Whole words. */
  words: ReadonlyMap<string, string>
  needles: ReadonlyMap<string, string>
  /** Null without needles. */
  search: NeedleSearch | null
}

/** Browsers send the same fields with each request, and crawlers do. */
const known = new LRUCache<string, Wanted>({ max: 64 })
/** Longer requests are not remembered, in characters: visitors choose how long they are. */
const longestKnown = 2_048

function wantedIn(question: Question, sent: readonly HeaderPair[], vary: readonly string[] | '*'): Wanted {
  const { keyedFields, unkeyedCookies, channel } = question
  const { scheme, host, url } = channel
  const key = JSON.stringify([sent, vary, keyedFields, unkeyedCookies, scheme, host, url])
  let wanted = known.get(key)
  if (wanted !== undefined) return wanted
  const all = tellingValues(question, sent, vary)
  const telling = distinct(all.filter(({ whole }) => !whole))
  const needles = new Map(
    telling.flatMap(({ name, value }) => spellings(value.toLowerCase()).map((form) => [form, name])),
  )
  wanted = {
    words: new Map(all.filter(({ whole }) => whole).map(({ name, value }) => [value.toLowerCase(), name])),
    needles,
    search: needles.size === 0 ? null : new NeedleSearch(needles.keys()),
  }
  if (key.length <= longestKnown) known.set(key, wanted)
  return wanted
}

/** Words up to this length in characters are searched for as whole words only. */
const longestWord = 5
const isWord = /^[a-z0-9]{1,5}$/i

/** Finds the first whole word of a text that is in `words` (lower case), in one pass; null if there is none. */
function findWord(text: string, words: ReadonlyMap<string, string>): string | null {
  for (const [run] of text.matchAll(/[a-z0-9]+/g)) if (run.length <= longestWord && words.has(run)) return run
  return null
}

/** Name of a request field or `cookie` outside the key with a word that appears in Location but not in the request's URL; else null. */
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

/** Removes repeated values, so that each is searched for once. */
function distinct(values: readonly Telling[]): Telling[] {
  return [...new Map(values.map((each) => [each.value.toLowerCase(), each])).values()]
}

interface Telling {
  name: string
  value: string
  /** Whether to search for it as a whole word only. */
  whole: boolean
}

/** The values of a request that are specific to its visitor, in the parts that a page could reflect. */
function tellingValues(
  { keyedFields, unkeyedCookies, channel }: Question,
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
      // A page may reflect only a part, such as the host of a URL.
      for (const piece of piecesOf(form)) add(name, piece, shortest.piece)
    }
  }
  if (unkeyedCookies === null || vary.includes('cookie')) return values
  for (const cookie of unkeyedCookies.split('; ')) {
    const equals = cookie.indexOf('=')
    const name = cookie.slice(0, equals)
    // Scripts of a page contain the names of its cookies, so only a name that could be a URL is searched for.
    if (!/^[\w-]*$/.test(name)) for (const each of [name, ...piecesOf(name)]) add('cookie', each, shortest.other)
    for (const value of decodedForms(cookie.slice(equals + 1))) addCookieValue(value, add)
  }
  return values
}

type Add = (name: string, value: string, least: number, whole?: boolean) => void

/** Separators of list elements in a cookie value. */
const separators = /[\s,;|:&=/]+/
const sentence = 4

/** The short elements of a value, and its words unless it is a sentence. Numbers of up to three digits appear on pages by chance. */
function wordsIn(value: string): string[] {
  const elements = value.split(/[,;|:&=/]/).map((element) => element.trim())
  const words = value.split(/[\s"'()]+/, sentence)
  return [...elements, ...(words.length < sentence ? words : [])].filter(
    (word) => isWord.test(word) && !/^\d{1,3}$/.test(word),
  )
}

/** Cookie values that appear on most pages: settings, consent and currencies. */
const choices =
  /^(?:\d{1,5}|[A-Z]{3}|[a-z]{1,2}|yes|not|off|all|new|any|true|false|none|null|undefined|auto|dark|light|default|desktop|mobile|tablet|grid|list|guest|user|allow|allowed|deny|denied|granted|accept|accepted|reject|rejected|necessary|required|essential|functional|performance|preferences|statistics|analytics|marketing|advertising|targeting|social|personalization|consent|stats)$/

/** Adds a cookie's value and its elements. */
function addCookieValue(value: string, add: Add): void {
  if (!choices.test(value)) add('cookie', value, shortest.ordinary)
  // JSON often holds consent words that are on every page: only parts that could be markup or a URL count.
  const elements = /^\s*[{[]/.test(value) ? [] : value.split(separators)
  for (const element of elements) {
    const whole = isWord.test(element)
    if (!choices.test(element)) add('cookie', element, whole ? shortest.word : shortest.ordinary, whole)
  }
  if (/[<>"'/:]/.test(value)) for (const piece of piecesOf(value)) add('cookie', piece, shortest.piece)
}

/** Words of User-Agent and Accept that appear on pages by chance. */
const ownWords =
  /^(?:mozilla|applewebkit|khtml|like|gecko|chrome|safari|firefox|mobile|version|windows|linux|android|macintosh|intel|iphone|ipad|tablet|ubuntu|x86_64|wow64|win64|compatible|build|text|html|image|application|audio|video|font|null|https?)$/i

/**
 * Splits a value into list elements and the two sides of equals signs; for fields in which browsers send free text, also into words.
 */
function elementsOf(name: string, value: string): string[] {
  const elements = value.split(/[,;=]/).map((element) => element.trim().replace(/^"(.*)"$/, '$1'))
  if (!ordinary.test(name)) return elements
  return [...elements, ...value.split(/[^\w.-]+|[._](?=\D)/)].filter(
    (element) => /[a-z]/i.test(element) && !ownWords.test(element),
  )
}

/** Words with a digit, a dot or a dash; plain words appear on too many pages. */
function piecesOf(value: string): string[] {
  return (value.match(/[\w.-]+/g) ?? []).filter((piece) => /[a-z]/i.test(piece) && /[\d.-]/.test(piece))
}

const named: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }

/** The ways in which a page may write a value (lower case): unchanged, or escaped for HTML, a URL or a script. */
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
