import type { HeaderPair } from '../pages/page.ts'
import { decodedForms, isCommonBrowserValue } from './browser-values.ts'
import { isKeyed } from './keyed.ts'
import type { Lookup } from './lookup.ts'
import { shortestNeedle } from './search.ts'

/**
 * Minimum lengths of the values to search for, in characters: shorter ones appear on pages by chance. Values of fields that no browser
 * sends are searched for from a lower length, and as whole words from one character.
 */
const shortest = { ordinary: 6, other: shortestNeedle, piece: 6, run: 6, word: 3 }

/** Characters of a value that are searched for: the start of a long one tells as much, and its spellings take time. */
const longest = 128

/** Request fields that browsers send by themselves. */
export const ordinary =
  /^(?:accept(?:-(?:charset|encoding|language))?|user-agent|origin|dnt|priority|purpose|save-data|sec-.*|upgrade-insecure-requests|device-memory|downlink|dpr|ect|rtt|viewport-width|width|cookie)$/

/** Words up to this length in characters are searched for as whole words only. */
export const longestWord = 5
const isWord = /^[a-z0-9]{1,5}$/i

export type Question = Pick<Lookup, 'keyedFields' | 'classified' | 'unkeyedCookies' | 'channel' | 'remembered'>

export interface Telling {
  name: string
  value: string
  /** What to search for: the value in all spellings, or as it is, in the body alone, or as a whole word. */
  as: 'text' | 'exact' | 'body' | 'word'
}

/** The values of a request that are specific to its visitor, in the parts that a page could reflect. */
export function tellingValues(
  question: Question,
  sent: readonly HeaderPair[],
  vary: readonly string[] | '*',
): Telling[] {
  const { unkeyedCookies, channel } = question
  const values: Telling[] = []
  const own = new Set([channel.host, `${channel.scheme}://${channel.host}`, channel.url])
  const add: Add = (name, value, least, as = 'text') => {
    if (value.length >= least && !own.has(value)) values.push({ name, value: value.slice(0, longest), as })
  }
  for (const [spelt, value] of sent) {
    const name = spelt.toLowerCase()
    if (isKeyed(question, vary, name) || name === 'cookie' || isCommonBrowserValue(name, value)) continue
    if (!ordinary.test(name)) addName(name, add)
    if (own.has(value)) continue
    for (const form of decodedForms(value)) {
      add(name, form, ordinary.test(name) ? shortest.ordinary : shortest.other)
      for (const element of elementsOf(name, form)) add(name, element, shortest.other)
      if (!ordinary.test(name)) addUnknown(name, form, add)
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

type Add = (name: string, value: string, least: number, as?: Telling['as']) => void

/** Of longer runs of letters and digits, both ends count: a shop may cut a value off. In characters. */
const longestRun = 8

/** Adds the name of a field that no browser sends. A plain word is on pages by chance. */
function addName(name: string, add: Add): void {
  for (const part of breakoutsIn(name)) add(name, part, shortestNeedle, 'exact')
  if (!/^[a-z]*$/.test(name)) add(name, name, shortestNeedle)
}

/** Adds parts of a field that no browser sends. A shop may take any of its words, and escape it in any way. */
function addUnknown(name: string, value: string, add: Add): void {
  for (const word of wordsIn(value)) add(name, word, 1, 'word')
  const runs = value.match(/[a-z0-9]+/gi) ?? []
  // One of many words may be that of a response field, such as `attachment`.
  const as = runs.length < sentence ? 'exact' : 'body'
  for (const run of runs)
    for (const end of [run.slice(0, longestRun), run.slice(-longestRun)]) add(name, end, shortest.run, as)
  for (const part of breakoutsIn(value)) add(name, part, shortestNeedle, 'exact')
}

/** Characters that a part of a value around a quote, a bracket or a backslash has. */
const breakoutSize = 6

/** Parts of a value with characters that would end a text in markup or a script, where a page repeats them as they are. */
function breakoutsIn(value: string): string[] {
  return [...value.matchAll(/["'`<>()\\]/g)].flatMap(({ index }) => [
    value.slice(index, index + breakoutSize),
    value.slice(Math.max(0, index + 1 - breakoutSize), index + 1),
  ])
}

/** Separators of list elements in a cookie value. */
const separators = /[\s,;|:&=/]+/
/** With this many words, some are on pages by chance. */
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
  // JSON often holds consent words that are on every page: only parts that could be markup, a URL or a sentence count.
  const isJson = /^\s*[{[]/.test(value)
  for (const element of isJson ? [] : value.split(separators)) {
    const isShort = isWord.test(element)
    if (choices.test(element)) continue
    add('cookie', element, isShort ? shortest.word : shortest.ordinary, isShort ? 'word' : 'text')
  }
  for (const text of isJson ? stringsIn(value) : [value]) {
    for (const part of breakoutsIn(text)) add('cookie', part, shortestNeedle, 'exact')
    if (isJson && /\s/.test(text)) add('cookie', text, shortest.ordinary)
  }
  if (/[<>"'/:]/.test(value)) for (const piece of piecesOf(value)) add('cookie', piece, shortest.piece)
}

/** The strings in a JSON text; the text itself if it is no JSON. */
function stringsIn(json: string): string[] {
  const strings: string[] = []
  try {
    JSON.parse(json, (_, value: unknown) => {
      if (typeof value === 'string') strings.push(value)
      return value
    })
    return strings
  } catch {
    return [json]
  }
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
