import type { HeaderPair } from '../pages/page.ts'
import type { Question } from './question.ts'
import { varyNames } from './vary.ts'

/** Shorter values appear on any page by chance; those of fields that no browser sends are looked for from fewer characters on. */
const shortest = { ordinary: 6, other: 4 }

/** Fields of a fixed grammar: what stands in them was not taken from a visitor. */
const grammatical = new Set(['cache-control', 'cdn-cache-control', 'vary', 'content-type', 'content-encoding', 'content-length', 'date', 'expires', 'last-modified', 'age', 'accept-ranges'])

/** Fields that browsers send by themselves. */
const ordinary = /^(?:accept(?:-.*)?|user-agent|origin|dnt|priority|purpose|save-data|sec-.*|upgrade-insecure-requests|device-memory|downlink|dpr|ect|rtt|viewport-width|width|via|from|cookie)$/

const mediaTypes = 'text/(?:html|css|plain|xml|javascript)|application/(?:xhtml\\+xml|xml|json|javascript|signed-exchange)|image/(?:avif|webp|apng|svg\\+xml|png|gif|jpeg|\\*)|(?:audio|video|font|text|\\*)/\\*'

/** Values that every browser sends and pages hold by chance (`document`, say): they tell nothing about a visitor. */
const commonplace: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/^sec-fetch-(?:dest|mode|site|user)$/, /^(?:audio|audioworklet|cors|cross-site|document|embed|empty|font|frame|iframe|image|json|manifest|navigate|no-cors|none|nested-navigate|object|paintworklet|report|same-origin|same-site|script|serviceworker|sharedworker|style|track|video|webidentity|websocket|worker|xslt|\?[01])$/],
  [/^sec-ch-ua(?:-.*)?$/, /^(?:"(?:Windows|macOS|Linux|Android|iOS|Chrome OS|Chromium OS|Unknown|x86|arm|64|32|)"|\?[01])$/],
  [/^(?:sec-)?purpose$/, /^prefetch(?:;prerender|;anonymous-client-ip)?$/],
  [/^accept$/, new RegExp(`^(?:(?:${mediaTypes})(?:;\\s?(?:q=[\\d.]+|v=b3))*(?:,\\s?|$))+$`)],
  [/^accept-charset$/, /^(?:utf-8|iso-8859-1|\*)$/i],
  [/^cdn-loop$/, /^(?:cloudflare|fastly|akamai)(?:;[^,]*)?$/i],
]

/**
 * The name of a request field outside the key whose value stands in the response; null where none does. What one visitor sent
 * must not become everybody's page: web caches are poisoned through fields that a shop reflects.
 *
 * @param sent the visitor's fields as the origin got them
 */
export function reflectedField(question: Pick<Question, 'keyedFields' | 'unkeyedCookies' | 'channel'>, sent: readonly HeaderPair[], headers: readonly HeaderPair[], body: Buffer): string | null {
  const telling = tellingValues(question, sent, varyNames(headers))
  if (telling.length === 0) return null
  const head = headers.filter(([name]) => !grammatical.has(name.toLowerCase())).map(([, value]) => value).join('\n')
  const text = `${head}\n${body.toString('latin1')}`.toLowerCase()
  return telling.find(({ value }) => spellings(value.toLowerCase()).some(form => text.includes(form)))?.name ?? null
}

/** What of a request is this visitor's own, in pieces that a page could hold. */
function tellingValues({ keyedFields, unkeyedCookies, channel }: Pick<Question, 'keyedFields' | 'unkeyedCookies' | 'channel'>, sent: readonly HeaderPair[], vary: readonly string[] | '*') {
  const values: { name: string; value: string }[] = []
  const own = new Set([channel.host, `${channel.scheme}://${channel.host}`, channel.url])
  const add = (name: string, value: string, least: number) => {
    if (value.length >= least && !own.has(value)) values.push({ name, value })
  }
  for (const [spelt, value] of sent) {
    const name = spelt.toLowerCase()
    if (vary.includes(name) || keyedFields.includes(name) || name === 'cookie') continue
    if (commonplace.some(([names, usual]) => names.test(name) && usual.test(value))) continue
    add(name, value, ordinary.test(name) ? shortest.ordinary : shortest.other)
    // Of a URL or a host with a port a page may take the name alone.
    for (const host of value.match(/(?:[\w-]+\.)+[a-z][\w-]+/gi) ?? []) if (name !== 'user-agent') add(name, host, shortest.ordinary)
  }
  if (unkeyedCookies === null || vary.includes('cookie')) return values
  for (const cookie of unkeyedCookies.split('; ')) add('cookie', cookie.slice(cookie.indexOf('=') + 1), shortest.ordinary)
  return values
}

const named: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }

/** A value, in lower case, as a page may spell it: as it is, escaped for HTML, for a URL, for a script. */
function spellings(value: string): string[] {
  const html = value.replace(/[&<>"]/g, char => `&${named[char]!};`)
  const url = encodeURIComponent(value).toLowerCase()
  return [
    ...new Set([
      value,
      value.replace(/[<>]/g, char => `&${named[char]!};`),
      html,
      ...['&#039;', '&#39;', '&#x27;', '&apos;'].map(quote => html.replaceAll("'", quote)),
      html.replaceAll('&quot;', '&#34;').replaceAll("'", '&#39;'),
      url,
      url.replaceAll('%20', '+'),
      url.replace(/[!'()*]/g, char => `%${char.charCodeAt(0).toString(16)}`),
      JSON.stringify(value).slice(1, -1),
      JSON.stringify(value).slice(1, -1).replaceAll('/', '\\/'),
      JSON.stringify(value).slice(1, -1).replaceAll('/', '\\/').replace(/[<>&']/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
    ]),
  ]
}
