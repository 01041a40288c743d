import type { PurgeTime } from '../clock.ts'
import { pageTypes, type PageDraft } from '../../pages/page.ts'

/**
 * Checks that a decoded page has every field in the expected form. Its seal proves that a node wrote it, but that node may run another
 * version of pagecache.
 */

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isFlag: Check = (value) => typeof value === 'boolean'
const isNumber: Check = (value) => typeof value === 'number' && Number.isFinite(value)
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isStatus: Check = (value) => isCount(value) && (value as number) >= 200 && (value as number) <= 599
const isOneOf =
  (values: readonly string[]): Check =>
  (value) =>
    values.includes(value as string)
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)

/** Neither may end the field or the head of a response. */
const isFieldName: Check = (value) => isText(value) && /^[!#$%&'*+.^_`|~\w-]+$/.test(value as string)
// oxlint-disable-next-line no-control-regex
const isFieldValue: Check = (value) => isText(value) && !/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value as string)
const isHeader: Check = (value) =>
  Array.isArray(value) && value.length === 2 && isFieldName(value[0]) && isFieldValue(value[1])

const isVary: Check = (value) => isObject(value) && Object.values(value).every((each) => each === null || isText(each))

const required: Record<string, Check> = {
  key: isText,
  url: (value) => isText(value) && URL.canParse(value as string),
  channelId: isText,
  type: isOneOf(pageTypes),
  tags: isListOf(isText),
  status: isStatus,
  headers: isListOf(isHeader),
  vary: isVary,
  states: isListOf(isText),
  cachedAt: isNumber,
  initialAge: isNumber,
  lifetime: isNumber,
  staleWhileRevalidate: isNumber,
  staleIfError: isNumber,
  staleAllowed: isFlag,
  noCache: isFlag,
  staleAt: isNumber,
  deleteAt: isNumber,
  // Parts of pages are not shared.
  range: (value) => value === null,
  encoding: isOneOf(['identity', 'gzip', 'br', 'zstd']),
  originalSize: isCount,
  generationMs: isNumber,
} satisfies Record<Exclude<keyof PageDraft, 'fragments'>, Check>

const optional: Record<string, Check> = { fragments: isListOf(isText) }

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The page that these fields are; null where one is missing, unknown or of another form. */
export function asDraft(fields: Record<string, unknown>): PageDraft | null {
  const isWhole = Object.entries(required).every(([name, check]) => check(fields[name]))
  const isKnown = Object.entries(fields).every(
    ([name, value]) => Object.hasOwn(required, name) || (Object.hasOwn(optional, name) && optional[name]!(value)),
  )
  return isWhole && isKnown ? (fields as unknown as PageDraft) : null
}

/** The names of request fields; null for anything else. */
export function asNames(value: unknown): string[] | null {
  return isListOf(isFieldName)(value) ? (value as string[]) : null
}

/** A value of the purge clock; null for anything else. */
export function asPurgeTime(value: unknown): PurgeTime | null {
  if (!isObject(value) || !isCount(value['history']) || !isCount(value['number'])) return null
  return { history: value['history'] as number, number: value['number'] as number }
}
