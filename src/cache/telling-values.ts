import type { HeaderPair } from '../pages/page.ts'
import { decodedForms, isCommonBrowserValue } from './browser-values.ts'
import type { Lookup } from './lookup.ts'
import { shortestNeedle } from './search.ts'

/**
 * Minimum lengths of the values to search for, in characters: shorter ones appear on pages by chance. Values of fields that no browser
 * sends are searched for from a lower length, and as whole words from one character.
 */
const shortest = { ordinary: 6, other: shortestNeedle, piece: 6, word: 3 }

/** Request fields that browsers send by themselves. */
export const ordinary =
  /^(?:accept(?:-(?:charset|encoding|language))?|user-agent|origin|dnt|priority|purpose|save-data|sec-.*|upgrade-insecure-requests|device-memory|downlink|dpr|ect|rtt|viewport-width|width|cookie)$/

/** Words up to this length in characters are searched for as whole words only. */
export const longestWord = 5
const isWord = /^[a-z0-9]{1,5}$/i

export type Question = Pick<Lookup, 'keyedFields' | 'unkeyedCookies' | 'channel' | 'remembered'>

export interface Telling {
  name: string
  value: string
  /** Whether to search for it as a whole word only. */
  whole: boolean
}

/** The values of a request that are specific to its visitor, in the parts that a page could reflect. */
export function tellingValues(
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
