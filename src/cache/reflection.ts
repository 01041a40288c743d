import { LRUCache } from 'lru-cache'
import type { HeaderPair } from '../pages/page.ts'
import { decodedForms, isCommonBrowserValue } from './browser-values.ts'
import { FieldNames, fieldValue } from './fields.ts'
import type { Sent } from './forward.ts'
import { isKeyed, isVaried } from './keyed.ts'
import type { Lookup } from './lookup.ts'
import { NeedleSearch } from './search.ts'
import { longestWord, ordinary, tellingValues, type Question, type Telling } from './telling-values.ts'
import { varyNames } from './vary.ts'

/** Response fields with a fixed grammar, which cannot contain a visitor's value. */
const grammatical = new FieldNames([
  'cache-control',
  'cdn-cache-control',
  'vary',
  'content-encoding',
  'content-length',
  'date',
  'expires',
  'last-modified',
  'age',
  'accept-ranges',
])

/**
 * Finds a request field outside the key whose value appears in the response, and returns its name; null if there is none. Attackers
 * poison web caches through fields that a shop reflects, so such a response must not become the page of other visitors.
 */
export function reflectedField(
  question: Question & Pick<Lookup, 'target'>,
  { sent, addresses }: Sent,
  headers: readonly HeaderPair[],
  body: Buffer,
): string | null {
  const vary = varyNames(headers)
  const redirecting = redirectingField(question, sent, headers, vary)
  if (redirecting !== null) return redirecting
  const inputs = [sent, question.keyedFields, question.classified, question.unkeyedCookies, question.channel]
  const { words, needles, search, inBody } = question.remembered.of(`wanted ${vary}`, inputs, () =>
    wantedIn(question, sent, vary),
  )
  if (needles.size + words.size + addresses.length === 0) return null
  let fields = ''
  for (const [name, value] of headers) if (!grammatical.cover(name)) fields += `${value}\n`
  const head = Buffer.from(fields, 'latin1')
  if (addresses.some((address) => holdsAddress(head, address) || holdsAddress(body, address))) return 'x-forwarded-for'
  const word = words.size === 0 ? null : findWord(`${fields}\n${body.toString('latin1')}`.toLowerCase(), words)
  if (word !== null) return words.get(word)!
  const found = search?.find(head) ?? search?.find(body) ?? inBody?.find(body) ?? null
  return found === null ? null : needles.get(found)!
}

/** Whether a text contains an address that is no part of another one. */
function holdsAddress(text: Buffer, address: string): boolean {
  const digit = address.includes(':') ? /[\da-f]/i : /\d/
  for (let at = text.indexOf(address, 0, 'latin1'); at !== -1; at = text.indexOf(address, at + 1, 'latin1')) {
    const around = [text[at - 1], text[at + address.length]]
    if (around.every((code) => code === undefined || !digit.test(String.fromCharCode(code)))) return true
  }
  return false
}

/** What to search for, in lower case, with the name of the request field that it comes from. */
interface Wanted {
  /** Whole words. */
  words: ReadonlyMap<string, string>
  needles: ReadonlyMap<string, string>
  /** For most of the needles, in fields and in the body; null without any. */
  search: NeedleSearch | null
  /** For the others, in the body alone. */
  inBody: NeedleSearch | null
}

/** Browsers send the same fields with each request, and crawlers do. */
const known = new LRUCache<string, Wanted>({ max: 64 })
/** Longer requests are not remembered, in characters: visitors choose how long they are. */
const longestKnown = 2_048

function wantedIn(question: Question, sent: readonly HeaderPair[], vary: readonly string[] | '*'): Wanted {
  const { keyedFields, classified, unkeyedCookies, channel } = question
  const { scheme, host, url } = channel
  const key = JSON.stringify([sent, vary, keyedFields, classified, unkeyedCookies, scheme, host, url])
  let wanted = known.get(key)
  if (wanted !== undefined) return wanted
  const all = distinct(tellingValues(question, sent, vary))
  const formsOf = ({ value, as }: Telling) => (as === 'text' ? spellings(value.toLowerCase()) : [value.toLowerCase()])
  const found = (wants: (as: Telling['as']) => boolean) =>
    new Map(
      all.filter(({ as }) => wants(as)).flatMap((each) => formsOf(each).map((form) => [form, each.name] as const)),
    )
  const anywhere = found((as) => as === 'text' || as === 'exact')
  const inBody = found((as) => as === 'body')
  const searchFor = (needles: ReadonlyMap<string, string>) =>
    needles.size === 0 ? null : new NeedleSearch(needles.keys())
  wanted = {
    words: found((as) => as === 'word'),
    needles: new Map([...inBody, ...anywhere]),
    search: searchFor(anywhere),
    inBody: searchFor(inBody),
  }
  if (key.length <= longestKnown) known.set(key, wanted)
  return wanted
}

/** Finds the first whole word of a text that is in `words` (lower case), in one pass; null if there is none. */
function findWord(text: string, words: ReadonlyMap<string, string>): string | null {
  for (const [run] of text.matchAll(/[a-z0-9]+/g)) if (run.length <= longestWord && words.has(run)) return run
  return null
}

/** Name of a request field or `cookie` outside the key with a word that appears in Location but not in the request's URL; else null. */
function redirectingField(
  question: Parameters<typeof reflectedField>[0],
  sent: readonly HeaderPair[],
  headers: readonly HeaderPair[],
  vary: readonly string[] | '*',
): string | null {
  const { unkeyedCookies, channel, target } = question
  const location = fieldValue(headers, 'location')
  if (location === null) return null
  const own = `${channel.scheme}://${channel.host}`
  const path = location.startsWith(own) ? location.slice(own.length) : location
  const known = new Set(wordsOf(`${target.path}${target.query}`))
  const words = new Set(wordsOf(path).filter((word) => !known.has(word)))
  const leads = (value: string) => decodedForms(value).some((form) => wordsOf(form).some((word) => words.has(word)))
  const field = sent.find(([spelt, value]) => {
    const name = spelt.toLowerCase()
    const isLanguage = name === 'accept-language'
    // The order of languages has no meaning, so the key is exact enough for a choice among them.
    if (isKeyed(question, vary, name) || (isLanguage && isVaried(question, vary, name))) return false
    return (isLanguage || !(ordinary.test(name) || isCommonBrowserValue(name, value))) && leads(value)
  })
  if (field !== undefined) return field[0].toLowerCase()
  return unkeyedCookies !== null && !vary.includes('cookie') && leads(unkeyedCookies) ? 'cookie' : null
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z0-9]+/g) ?? []
}

/** Removes repeated values, so that each is searched for once. */
function distinct(values: readonly Telling[]): Telling[] {
  return [...new Map(values.map((each) => [`${each.as} ${each.value.toLowerCase()}`, each])).values()]
}

const named: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }

const unicode = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

/** The ways in which a page may write a value (lower case): unchanged, or escaped for HTML, a URL or a script. */
function spellings(value: string): string[] {
  const html = value.replace(/[&<>"]/g, (char) => `&${named[char]!};`)
  const url = encodeURIComponent(value).toLowerCase()
  const everyUrl = url.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
  const json = JSON.stringify(value).slice(1, -1)
  return [
    ...new Set([
      value,
      value.replace(/[<>]/g, (char) => `&${named[char]!};`),
      html,
      ...['&#039;', '&#39;', '&#x27;', '&apos;'].map((quote) => html.replaceAll("'", quote)),
      html.replaceAll('&quot;', '&#34;').replaceAll("'", '&#39;'),
      url,
      url.replaceAll('%20', '+'),
      everyUrl,
      everyUrl.replaceAll('%20', '+'),
      json,
      json.replaceAll('/', '\\/'),
      json.replaceAll('/', '\\/').replace(/[<>&']/g, unicode),
      json
        .replaceAll('/', '\\/')
        .replaceAll('\\"', '"')
        .replace(/[<>&'"]/g, unicode),
    ]),
  ]
}
