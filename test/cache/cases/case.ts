import { formatHttpDate } from '../../../src/lib/http-date.ts'
import type { Fields, Reply } from '../scripted-origin.ts'

/**
 * `required`: the RFC says MUST or MUST NOT. `optimal`: a cache may do worse, but then it asks the origin in vain. `ours`: the
 * RFC leaves it open, or we go beyond it (docs/caching.md).
 */
export type Level = 'required' | 'optimal' | 'ours'

/** One request and its expected outcome. */
export interface Step {
  /** Seconds to advance the clock before it. */
  wait?: number
  method?: string
  /** Suffix of the case's path. */
  target?: string
  /** Request fields of the visitor. */
  send?: Fields
  requestBody?: string
  /** The origin's response in this step, by default with a unique body. */
  reply?: Reply
  /** Number of requests that reach the origin in this step. */
  asked: number
  /** Expected fields of the last origin request; null when absent. */
  sent?: Readonly<Record<string, string | null>>
  status?: number
  /** Expected fields of the response; null when absent. */
  fields?: Readonly<Record<string, string | RegExp | null>>
  /** Expected body. 'new': the origin's body of this step. A number: the body of that step. Text: this text. */
  body?: 'new' | 'none' | number | { text: string }
  interim?: readonly number[]
  /** The last origin request is a background revalidation. */
  background?: true
  /** The transfer breaks off. */
  fails?: true
}

export interface Case {
  id: string
  rfc: string
  level: Level
  says: string
  steps: readonly Step[]
}

/** The cases of one RFC requirement. */
export function rule(
  rfc: string,
  level: Level,
  says: string,
  cases: Readonly<Record<string, readonly Step[]>>,
): Case[] {
  return Object.entries(cases).map(([id, steps]) => ({ id, rfc, level, says, steps }))
}

const start = Date.UTC(2026, 0, 15, 12)

/** The HTTP-date at a number of seconds after the start of the case. */
export function at(seconds: number): string {
  return formatHttpDate(start + seconds * 1000)
}

/** A first visit, which is a miss. */
export function miss(fields: Fields = {}, more: Partial<Step> & { reply?: Reply } = {}): Step {
  return {
    asked: 1,
    status: more.reply?.status ?? 200,
    body: 'new',
    ...more,
    reply: { ...more.reply, fields: { ...fields, ...more.reply?.fields } },
  }
}

/** A cache hit with the body of the first step. */
export function hit(more: Partial<Step> = {}): Step {
  return { asked: 0, status: 200, body: 0, ...more }
}

/** Two equal visits: the second is a hit. */
export function stored(fields: Fields, more: Partial<Step> = {}): Step[] {
  return [miss(fields, more), hit({ status: more.reply?.status ?? 200 })]
}

/** Two equal visits: both are misses. */
export function notStored(fields: Fields, more: Partial<Step> = {}): Step[] {
  return [miss(fields, more), miss(fields, more)]
}

/** Stored, but stale at the next visit, which is a miss. `wait`: seconds between them. */
export function staleAfter(wait: number, fields: Fields, more: Partial<Step> = {}): Step[] {
  return [miss(fields, more), miss(fields, { wait, ...more })]
}

/** Fresh one second before the end of its lifetime, stale at the end. */
export function freshFor(wait: number, fields: Fields, more: Partial<Step> = {}): Step[] {
  return [
    miss(fields, more),
    hit({ wait: wait - 1, status: more.reply?.status ?? 200 }),
    miss(fields, { wait: 1, ...more }),
  ]
}

/** One case per item, with the item in its id. */
export function each<T>(
  items: readonly T[],
  id: (item: T) => string,
  steps: (item: T) => readonly Step[],
): Record<string, readonly Step[]> {
  return Object.fromEntries(items.map((item) => [id(item), steps(item)]))
}

/** One case per entry of a table of field values. `prefix` starts its id. */
export function named(
  table: Readonly<Record<string, string>>,
  steps: (value: string) => readonly Step[],
  prefix = '',
): Record<string, readonly Step[]> {
  return Object.fromEntries(Object.entries(table).map(([name, value]) => [prefix + name, steps(value)]))
}
