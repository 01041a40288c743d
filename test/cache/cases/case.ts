import { formatHttpDate } from '../../../src/lib/http-date.ts'
import type { Fields, Reply } from '../scripted-origin.ts'

/**
 * `required`: the RFC says MUST or MUST NOT. `optimal`: a cache may do worse, but then it asks the origin in vain. `ours`: the
 * RFC leaves it open, or we go beyond it (docs/caching.md).
 */
export type Level = 'required' | 'optimal' | 'ours'

/** One request and what has to come of it. */
export interface Step {
  /** Seconds that pass before it. */
  wait?: number
  method?: string
  /** What is added to the path of the case. */
  target?: string
  /** Request fields of the visitor. */
  send?: Fields
  requestBody?: string
  /** What the origin answers in this step; the body is one of its own where none is given. */
  reply?: Reply
  /** Requests that reach the origin in this step. */
  asked: number
  /** Request fields as the origin gets them, of the last request; null for none. */
  sent?: Readonly<Record<string, string | null>>
  status?: number
  /** Response fields as the visitor gets them; null for none. */
  fields?: Readonly<Record<string, string | RegExp | null>>
  /** 'new': the body that the origin sent in this step. A number: the one of that step. Text: just that. */
  body?: 'new' | 'none' | number | { text: string }
  interim?: readonly number[]
  /** Of the requests to the origin, the last one is made behind the visitor's back. */
  background?: true
  /** The transfer breaks off, or the visitor gets this error. */
  fails?: true
}

export interface Case {
  id: string
  rfc: string
  level: Level
  says: string
  steps: readonly Step[]
}

/** The cases of one sentence of an RFC. */
export function rule(
  rfc: string,
  level: Level,
  says: string,
  cases: Readonly<Record<string, readonly Step[]>>,
): Case[] {
  return Object.entries(cases).map(([id, steps]) => ({ id, rfc, level, says, steps }))
}

const start = Date.UTC(2026, 0, 15, 12)

/** The HTTP-date of a moment in seconds from the start of each case. */
export function at(seconds: number): string {
  return formatHttpDate(start + seconds * 1000)
}

/** A first visit that finds nothing: the origin is asked, and its answer comes back. */
export function miss(fields: Fields = {}, more: Partial<Step> & { reply?: Reply } = {}): Step {
  return {
    asked: 1,
    status: more.reply?.status ?? 200,
    body: 'new',
    ...more,
    reply: { ...more.reply, fields: { ...fields, ...more.reply?.fields } },
  }
}

/** A visit that the cache answers with the body of the first step. */
export function hit(more: Partial<Step> = {}): Step {
  return { asked: 0, status: 200, body: 0, ...more }
}

/** Twice the same: the second visit is answered from the cache. */
export function stored(fields: Fields, more: Partial<Step> = {}): Step[] {
  return [miss(fields, more), hit({ status: more.reply?.status ?? 200 })]
}

/** Twice the same: the origin is asked both times. */
export function notStored(fields: Fields, more: Partial<Step> = {}): Step[] {
  return [miss(fields, more), miss(fields, more)]
}

/** Stored, but stale by the next visit, which asks the origin anew. `wait`: seconds until then. */
export function staleAfter(wait: number, fields: Fields, more: Partial<Step> = {}): Step[] {
  return [miss(fields, more), miss(fields, { wait, ...more })]
}

/** Fresh until just then. */
export function freshFor(wait: number, fields: Fields, more: Partial<Step> = {}): Step[] {
  return [
    miss(fields, more),
    hit({ wait: wait - 1, status: more.reply?.status ?? 200 }),
    miss(fields, { wait: 1, ...more }),
  ]
}

/** One case for each item, its id after it. */
export function each<T>(
  items: readonly T[],
  id: (item: T) => string,
  steps: (item: T) => readonly Step[],
): Record<string, readonly Step[]> {
  return Object.fromEntries(items.map((item) => [id(item), steps(item)]))
}

/** One case for each entry of a table of field values; `prefix` goes before its name. */
export function named(
  table: Readonly<Record<string, string>>,
  steps: (value: string) => readonly Step[],
  prefix = '',
): Record<string, readonly Step[]> {
  return Object.fromEntries(Object.entries(table).map(([name, value]) => [prefix + name, steps(value)]))
}
