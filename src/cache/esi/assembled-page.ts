import { createHash } from 'node:crypto'
import { formatHttpDate } from '../../lib/http-date.ts'
import type { HeaderPair, Page } from '../../pages/page.ts'
import { allowing } from '../browser.ts'
import { directivesOf } from '../cache-control.ts'
import { fieldValue, listElements, withoutFields } from '../fields.ts'
import { unstored } from '../fetched.ts'
import { ageAt } from '../freshness.ts'
import { secondaryKey, type SelectingFields } from '../vary.ts'

/** Fields of a page that do not describe it with its fragments. */
const ofTemplate = new Set([
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
  const dropped = new Set([...ofTemplate, ...ofVendor, ...(isOneLanguage(parts) ? [] : ['content-language'])])
  const headers = withoutFields(template.headers, dropped)
    .filter(([name]) => !addsNoCache || !allowing.test(name) || /^cache-control$/i.test(name))
    .map(limited(parts, oldest, now))
  const names = new Set(parts.flatMap((part) => listElements(fieldValue(part.headers, 'vary'))))
  const page = {
    ...template,
    tags: [...new Set(parts.flatMap((part) => part.tags))],
    headers: [
      ...withoutFields(headers, new Set(['vary'])),
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
    { ...template, headers, cachedAt: now, initialAge: 0, staleAt: now, deleteAt: now, originalSize: body.length },
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

/** Shortens the lifetimes that a field of the template grants to those of the parts. */
function limited(parts: readonly Page[], age: number, now: number): (field: HeaderPair) => HeaderPair {
  const left = (lifetime: (part: Page) => number) =>
    Math.max(0, Math.floor(age + Math.min(...parts.map((part) => lifetime(part) - ageAt(part, now)))))
  const spans: Readonly<Record<string, number>> = {
    'max-age': left((part) => directivesOf(part.headers).maxAge ?? part.lifetime),
    's-maxage': left((part) => part.lifetime),
  }
  return ([name, value]) =>
    allowing.test(name)
      ? [
          name,
          value.replace(
            /\b(s-maxage|max-age)=(\d+)/gi,
            (_, directive: string, span: string) =>
              `${directive}=${Math.min(Number(span), spans[directive.toLowerCase()]!)}`,
          ),
        ]
      : [name, value]
}
