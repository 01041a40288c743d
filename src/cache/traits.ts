import { Memo } from '../lib/memo.ts'
import type { HeaderPair } from '../pages/page.ts'
import { clientStates } from './bypass.ts'
import { requestDirectives } from './cache-control.ts'
import type { Channel } from './channel.ts'
import type { Visitor } from './confirmations.ts'
import { cookieHeader, fieldValue, hasField, parseCookies } from './fields.ts'
import { methodOverrides } from './forward.ts'
import { cookiesForShop, isScript, scriptField, shopwareVariants, unkeyedCookies, type VariantRules } from './key.ts'
import type { RequestTraits } from './may-store.ts'
import type { SelectingFields } from './vary.ts'
import type { VisitHead } from './visit.ts'

/** What follows from a request's fields alone, whatever its target. */
export interface Traits extends SelectingFields, Omit<RequestTraits, 'odd'> {
  visitor: Visitor
  /** The cookies that the shop gets. */
  cookies: ReadonlyMap<string, string>
  /** The variant cookies by name; empty strings where the request has none. */
  variantCookies: ReadonlyMap<string, string>
  /** Whether it tries to override its method. */
  overrides: boolean
  /** False when a stored page must not be served (Authorization), although the response may be stored. */
  mayReuse: boolean
  onlyIfCached: boolean
}

/** The traits of a request to a channel, with the cookies in its fields, or without any. */
export function traitsOf(
  { headers, classes }: VisitHead,
  channel: Channel,
  cookies: ReadonlyMap<string, string>,
  rules: VariantRules,
): Traits {
  const field = rules.classes.reader(classes ?? null, fieldReader(headers))
  return {
    headers,
    field,
    visitor: { channelId: channel.id, cookies },
    cookies: cookiesForShop(rules, cookies),
    keyedFields: [
      ...rules.headers,
      ...(cookies.has(shopwareVariants.hash) ? [shopwareVariants.hash] : []),
      ...(isScript(field) ? [scriptField] : []),
    ],
    classified: rules.classes.sources,
    site: `${channel.scheme}://${channel.host}`,
    variantCookies: new Map([...rules.names].map((name) => [name, cookies.get(name) ?? ''])),
    unkeyedCookies: unkeyedCookies(cookies, rules.names),
    states: clientStates(cookies),
    overrides: headers.some(([name]) => methodOverrides.has(name.toLowerCase())),
    mayReuse: !hasField(headers, 'authorization'),
    onlyIfCached: requestDirectives(headers).onlyIfCached,
    remembered: new Memo(),
  }
}

/** A request's cookies. Clients without a cookie jar send Shopware's hash as a field of the cookie's name. */
export function cookiesOf(headers: readonly HeaderPair[]): ReadonlyMap<string, string> {
  const cookies = parseCookies(cookieHeader(headers))
  const hash = fieldValue(headers, shopwareVariants.hash)
  if (hash !== null && hash !== '' && !cookies.get(shopwareVariants.hash)) cookies.set(shopwareVariants.hash, hash)
  return cookies
}

/** Reads request fields by lower-case name, lines combined. Indexed at the first read. */
function fieldReader(headers: readonly HeaderPair[]): (name: string) => string | null {
  let fields: Map<string, string> | null = null
  return (name) => {
    if (fields === null) {
      fields = new Map()
      for (const [key, value] of headers) {
        const lower = key.toLowerCase()
        const before = fields.get(lower)
        fields.set(lower, before === undefined ? value : `${before}, ${value}`)
      }
    }
    return fields.get(name) ?? null
  }
}
