import { LRUCache } from 'lru-cache'
import { parseDictionary, type Dictionary } from 'structured-headers'
import type { HeaderPair } from '../pages/page.ts'
import type { Channel } from './channel.ts'
import { fieldValue } from './fields.ts'
import { digest } from './ledger.ts'
import type { Target } from './target.ts'

/** Which query parameters do not change the response of a path. */
export interface SearchRule {
  /** Identifies the value of the field. */
  id: string
  ignores(name: string): boolean
}

/** Longer values are ignored, in characters; so are those that name more parameters. */
const longest = 2_048
const mostNames = 128
/** The most paths whose rule is remembered. */
const mostPaths = 2_000

/**
 * Parses No-Vary-Search (draft-ietf-httpbis-no-vary-search). Null for a value that is malformed, too long or ignores nothing.
 * `key-order` needs no rule: parameters are sorted in every key.
 */
export function parseNoVarySearch(value: string | null): SearchRule | null {
  if (value === null || value.length > longest) return null
  let members: Dictionary
  try {
    members = parseDictionary(value)
  } catch {
    return null
  }
  const order = members.get('key-order')?.[0]
  const params = members.get('params')?.[0]
  const except = members.get('except')?.[0]
  if (order !== undefined && typeof order !== 'boolean') return null
  if (except !== undefined && params !== true) return null
  const names = namesOf(params === true ? (except ?? []) : params)
  if (names === null) return null
  if (params === true) return { id: digest(value), ignores: (name) => !names.has(name) }
  return names.size === 0 ? null : { id: digest(value), ignores: (name) => names.has(name) }
}

/** The names in an inner list of Strings; null for anything else. */
function namesOf(list: unknown): Set<string> | null {
  if (!Array.isArray(list) || list.length > mostNames) return null
  const names = (list as unknown[]).map((item) => (Array.isArray(item) ? (item[0] as unknown) : item))
  return names.every((name) => typeof name === 'string') ? new Set(names.map(decoded)) : null
}

/** The bytes of a parameter name that a form encodes. Invalid UTF-8 compares like any other bytes. */
function decoded(name: string): string {
  if (!/[+%]/.test(name)) return name
  return name
    .replaceAll('+', ' ')
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/**
 * The rules that the shop has named for its paths. A rule is a guess for the other queries of the path: their requests are sent without
 * the parameters that it ignores, and the response must repeat the rule (docs/decisions/0088-no-vary-search.md).
 */
export class SearchRules {
  readonly #rules = new LRUCache<string, SearchRule>({ max: mostPaths })

  get(channel: Pick<Channel, 'id'>, { path }: Pick<Target, 'path'>): SearchRule | null {
    return this.#rules.size === 0 ? null : (this.#rules.get(`${channel.id} ${path}`) ?? null)
  }

  /** Forgets a rule that the shop does not repeat. */
  forget(channel: Pick<Channel, 'id'>, { path }: Pick<Target, 'path'>): void {
    this.#rules.delete(`${channel.id} ${path}`)
  }

  /** Remembers what a response says about its path. */
  learn(channel: Pick<Channel, 'id'>, { path }: Pick<Target, 'path'>, headers: readonly HeaderPair[]): void {
    const key = `${channel.id} ${path}`
    const rule = parseNoVarySearch(fieldValue(headers, 'no-vary-search'))
    if (rule === null) this.#rules.delete(key)
    else if (this.#rules.get(key)?.id !== rule.id) this.#rules.set(key, rule)
  }
}

/** A target without the parameters that a rule ignores. */
export function reduced(target: Target, rule: SearchRule): Target {
  if (target.query === '') return target
  const kept = target.query
    .slice(1)
    .split('&')
    .filter((parameter) => !rule.ignores(decoded(parameter.split('=', 1)[0]!)))
  return { path: target.path, query: kept.length === 0 ? '' : `?${kept.join('&')}` }
}

/** Marks the key of a page that answers other queries too. */
export function searchMark(rule: SearchRule | null): string {
  return rule === null ? '' : `\nNo-Vary-Search ${rule.id}`
}

/** Why a response must not answer the queries that a rule covers; null if it may. `rule`: null for a request that is looked up by its URL. */
export function searchMismatch(rule: SearchRule | null, headers: readonly HeaderPair[]): string | null {
  if (rule === null || parseNoVarySearch(fieldValue(headers, 'no-vary-search'))?.id === rule.id) return null
  return otherSearch
}

/** The shop has to be asked again, with all parameters. */
export const otherSearch = 'No-Vary-Search has changed'
