import type { HeaderPair, PageDraft } from '../pages/page.ts'
import { fieldValue, listElements, trimBlanks } from './fields.ts'

/** Each name is looked up in each request for the page; no shop varies by more than a handful. */
const mostNames = 64

/** Names that `Vary` gives, lower-case; '*' where it has one (RFC 9110 §12.5.5), or more names than a page may vary by. */
export function varyNames(headers: readonly HeaderPair[]): string[] | '*' {
  const names = new Set(listElements(fieldValue(headers, 'vary')))
  return names.has('*') || names.size > mostNames ? '*' : [...names]
}

/** Reads a request field as a secondary key wants it. `unkeyedCookies` stands for Cookie: those are in the primary key already. */
export interface Selecting {
  field(name: string): string | null
  unkeyedCookies: string | null
}

/** The secondary key of a response (RFC 9111 §4.1). Accept-Encoding is left out: we negotiate codings ourselves. */
export function secondaryKey(names: readonly string[], request: Selecting): Record<string, string | null> {
  const key: Record<string, string | null> = {}
  for (const name of names) {
    if (name !== 'accept-encoding') key[name] = selectingValue(name, request)
  }
  return key
}

/** Whether a stored page answers this request, as far as Vary is concerned. */
export function selects(page: Pick<PageDraft, 'vary' | 'headers'>, request: Selecting): boolean {
  for (const name in page.vary) {
    const value = selectingValue(name, request)
    if (value === page.vary[name]) continue
    if (name === 'accept-language' && prefersLanguageOf(page.headers, value)) continue
    return false
  }
  return true
}

function selectingValue(name: string, request: Selecting): string | null {
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

/** Order says nothing in Accept-Language, only the weights do (RFC 9110 §12.5.4). */
function normaliseLanguages(value: string): string {
  return parseLanguages(value)
    .toSorted((a, b) => b.weight - a.weight || (a.tag < b.tag ? -1 : 1))
    .map(({ tag, weight }) => (weight === 1 ? tag : `${tag};q=${weight}`))
    .join(',')
}

/** A visitor whose one most wanted language is the page's gets what the shop would choose for them (RFC 9111 §4.1). */
function prefersLanguageOf(headers: readonly HeaderPair[], accepted: string | null): boolean {
  const language = fieldValue(headers, 'content-language')
  if (language === null || accepted === null) return false
  const languages = parseLanguages(accepted)
  const best = Math.max(...languages.map((each) => each.weight))
  const wanted = languages.filter((each) => each.weight === best)
  return wanted.length === 1 && wanted[0]!.tag === language.trim().toLowerCase()
}
