import { remembering } from '../lib/remembering.ts'
import type { HeaderPair, PageDraft } from '../pages/page.ts'
import { fieldValue, listElements, trimBlanks } from './fields.ts'

/** The most fields a page may vary by: each one is read for every request. Real shops use a handful. */
const mostNames = 64

/** The field names in `Vary`, in lower case; '*' when it contains that (RFC 9110 §12.5.5) or too many names. */
export function varyNames(headers: readonly HeaderPair[]): readonly string[] | '*' {
  const value = fieldValue(headers, 'vary')
  return value === null ? none : namesIn(value)
}

const none: readonly string[] = []

const namesIn = remembering((value): readonly string[] | '*' => {
  const names = new Set(listElements(value))
  return names.has('*') || names.size > mostNames ? '*' : [...names]
})

/**
 * The request fields that select a variant. `unkeyedCookies` replaces Cookie: the other cookies are in the primary key.
 */
export interface SelectingFields {
  field(name: string): string | null
  unkeyedCookies: string | null
}

/** Fields that this cache writes itself, whatever the visitor sends. */
const ownFields: ReadonlySet<string> = new Set(['accept-encoding', 'surrogate-capability'])

/** The secondary key of a response (RFC 9111 §4.1), without the fields that this cache negotiates itself. */
export function secondaryKey(names: readonly string[], request: SelectingFields): Record<string, string | null> {
  const key: Record<string, string | null> = {}
  for (const name of names) {
    if (!ownFields.has(name)) key[name] = selectingValue(name, request)
  }
  return key
}

/** Whether the Vary fields of a stored page match a request. */
export function selects(page: Pick<PageDraft, 'vary' | 'headers'>, request: SelectingFields): boolean {
  for (const name in page.vary) {
    const value = selectingValue(name, request)
    if (value === page.vary[name]) continue
    if (name === 'accept-language' && prefersLanguageOf(page.headers, value)) continue
    return false
  }
  return true
}

function selectingValue(name: string, request: SelectingFields): string | null {
  if (name === 'cookie') return request.unkeyedCookies
  const value = request.field(name)
  if (value === null) return null
  return name === 'accept-language' ? normaliseLanguages(value) : value.split(',').map(trimBlanks).join(',')
}

interface Language {
  tag: string
  weight: number
}

function parseLanguages(value: string): Language[] {
  return listElements(value).map((element) => {
    const [tag, ...parameters] = element.split(';').map(trimBlanks)
    const quality = parameters.find((parameter) => parameter.startsWith('q='))
    const weight = quality === undefined ? 1 : Number(quality.slice(2))
    return { tag: tag!, weight: Number.isFinite(weight) ? weight : 0 }
  })
}

/** Sorts Accept-Language by weight: the order has no meaning (RFC 9110 §12.5.4). */
function normaliseLanguages(value: string): string {
  return parseLanguages(value)
    .toSorted((a, b) => b.weight - a.weight || (a.tag < b.tag ? -1 : 1))
    .map(({ tag, weight }) => (weight === 1 ? tag : `${tag};q=${weight}`))
    .join(',')
}

/**
 * Whether the visitor's single preferred language is the page's, so that the shop would choose this page (RFC 9111
 * §4.1).
 */
function prefersLanguageOf(headers: readonly HeaderPair[], accepted: string | null): boolean {
  const language = fieldValue(headers, 'content-language')
  if (language === null || accepted === null) return false
  const languages = parseLanguages(accepted)
  const best = Math.max(...languages.map((each) => each.weight))
  const wanted = languages.filter((each) => each.weight === best)
  return wanted.length === 1 && wanted[0]!.tag === trimBlanks(language).toLowerCase()
}
