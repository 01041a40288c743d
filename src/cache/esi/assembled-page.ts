import { createHash } from 'node:crypto'
import { formatHttpDate } from '../../lib/http-date.ts'
import type { HeaderPair, Page } from '../../pages/page.ts'
import { allowing } from '../browser.ts'
import { directivesOf, parseDirectives, type Directives } from '../cache-control.ts'
import { FieldNames, fieldValue, listElements, withoutFields } from '../fields.ts'
import { unstored } from '../fetched.ts'
import { ageAt } from '../freshness.ts'
import { secondaryKey, type SelectingFields } from '../vary.ts'

/** Fields of a page that do not describe it with its fragments. */
const ofTemplate = new FieldNames([
  'etag',
  'last-modified',
  'date',
  'expires',
  'accept-ranges',
  'content-md5',
  'digest',
  'content-digest',
  'repr-digest',
])

const byLanguage = 'accept-language'

/** Fields of a single vendor with a lifetime that has no directive, so that it cannot be shortened. */
const ofVendor = new Set(['edge-control', 'x-accel-expires'])

/**
 * The page that a template and its fragments make. It is as fresh as the least fresh of them, and has the tags, Vary
 * names and excluded client states of all. Its ETag is that of its content.
 */
export function assembledPage(parts: readonly Page[], body: Buffer, now: number, asked: SelectingFields): Page {
  const [template] = parts as readonly [Page]
  const oldest = Math.max(...parts.map((part) => ageAt(part, now)))
  const noCache = parts.some((part) => part.noCache)
  const addsNoCache = noCache && !template.noCache
  const dropped = new FieldNames([...ofTemplate, ...ofVendor, ...(isOneLanguage(parts) ? [] : ['content-language'])])
  const headers = withoutFields(template.headers, dropped)
    .filter(([name]) => !addsNoCache || !allowing.test(name) || isCacheControl(name))
    .map(limited(parts, oldest, now))
  const names = new Set(parts.flatMap((part) => listElements(fieldValue(part.headers, 'vary'))))
  const page = {
    ...template,
    tags: [...new Set(parts.flatMap((part) => part.tags))],
    headers: [
      ...demanding(withoutFields(headers, new FieldNames(['vary'])), demandsOf(parts.slice(1))),
      ...(names.size === 0 ? [] : ([['Vary', [...names].join(', ')]] satisfies HeaderPair[])),
      ...(addsNoCache ? ([['Cache-Control', 'no-cache']] satisfies HeaderPair[]) : []),
      ...validators(body, now),
    ],
    vary: varyOf(parts, asked),
    states: [...new Set(parts.flatMap((part) => part.states))],
    initialAge: oldest - Math.max(0, now - template.cachedAt) / 1000,
    noCache,
    staleAt: Math.min(...parts.map((part) => part.staleAt)),
    deleteAt: Math.min(...parts.map((part) => part.deleteAt)),
    originalSize: body.length,
  }
  return unstored(page, body.length)
}

/** The secondary key. A part may have been chosen by its language, whatever languages the visitor of the page named. */
function varyOf(parts: readonly Page[], asked: SelectingFields): Page['vary'] {
  const vary = Object.assign({}, ...parts.map((part) => part.vary)) as Page['vary']
  return byLanguage in vary ? { ...vary, ...secondaryKey([byLanguage], asked) } : vary
}

/** Whether the parts that a shop chooses by language have the language of the template, so that the whole page may be chosen by it. */
function isOneLanguage(parts: readonly Page[]): boolean {
  const language = (part: Page) => fieldValue(part.headers, 'content-language')
  return parts.every((part) => !(byLanguage in part.vary) || language(part) === language(parts[0]!))
}

/** The page that one visitor gets because a part of it may not be shared. */
export function privatePage(template: Page, body: Buffer, now: number): Page {
  const headers: HeaderPair[] = [
    ...withoutFields(template.headers, ofTemplate).filter(([name]) => !allowing.test(name)),
    ['Cache-Control', 'private, no-store'],
    ...validators(body, now),
  ]
  return unstored(
    {
      ...template,
      headers,
      cachedAt: now,
      initialAge: 0,
      lifetime: 0,
      staleAt: now,
      deleteAt: now,
      originalSize: body.length,
    },
    body.length,
  )
}

function validators(body: Buffer, now: number): HeaderPair[] {
  const digest = createHash('sha256').update(body).digest('base64url').slice(0, 27)
  return [
    ['ETag', `"${digest}"`],
    ['Date', formatHttpDate(now)],
  ]
}

/** Shortens the times that a field of the template grants to those of the parts. */
function limited(parts: readonly Page[], age: number, now: number): (field: HeaderPair) => HeaderPair {
  const told = parts.map((part) => ({ ...directivesOf(part.headers), part }))
  const left = (lifetime: (part: Told) => number) =>
    Math.max(0, Math.floor(age + Math.min(...told.map((each) => lifetime(each) - ageAt(each.part, now)))))
  const spans: Readonly<Record<string, number>> = {
    'max-age': left(({ maxAge, part }) => maxAge ?? part.lifetime),
    's-maxage': left(({ part }) => part.lifetime),
    'stale-while-revalidate': Math.min(...told.map((each) => each.staleWhileRevalidate)),
    'stale-if-error': Math.min(...told.map((each) => each.staleIfError)),
  }
  return ([name, value]) => [name, allowing.test(name) ? value.replace(spanPattern, shortened) : value]

  function shortened(_: string, directive: string, span: string): string {
    return `${directive}=${Math.min(Number(span), spans[directive.toLowerCase()]!)}`
  }
}

type Told = Directives & { part: Page }

const spanPattern = /\b(s-maxage|max-age|stale-while-revalidate|stale-if-error)="?(\d+)"?/gi

/** Directives that hold for a page when they hold for a part of it. */
const inherited = new Set(['must-revalidate', 'proxy-revalidate', 'no-transform'])

/** What the fragments of a page demand of any cache. */
function demandsOf(fragments: readonly Page[]): string[] {
  const fields = fragments.flatMap(({ headers }) => headers.filter(([name]) => isDirectives(name)))
  const names = fields.flatMap(([, value]) => parseDirectives(value).map(({ name }) => name))
  // s-maxage forbids shared caches to serve it stale (RFC 9111 §5.2.2.10).
  return [...new Set(names.map((name) => (name === 's-maxage' ? 'proxy-revalidate' : name)))].filter((name) =>
    inherited.has(name),
  )
}

/** Adds directives to the fields that lack them. */
function demanding(headers: readonly HeaderPair[], demands: readonly string[]): HeaderPair[] {
  const lacking = (value: string) => {
    const names = new Set(parseDirectives(value).map(({ name }) => name))
    return demands.filter((name) => !names.has(name) && !(name === 'proxy-revalidate' && names.has('s-maxage')))
  }
  const added = headers.map(([name, value]): HeaderPair => [
    name,
    isDirectives(name) ? [value, ...lacking(value)].join(', ') : value,
  ])
  return demands.length === 0 || headers.some(([name]) => isCacheControl(name))
    ? added
    : [...added, ['Cache-Control', demands.join(', ')]]
}

function isCacheControl(name: string): boolean {
  return /^cache-control$/i.test(name)
}

function isDirectives(name: string): boolean {
  return /(?:^|-)cache-control$/i.test(name)
}
