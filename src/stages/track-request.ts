import { isUtf8 } from 'node:buffer'
import { PagecacheError } from '../errors.ts'
import { canonicalUuid } from '../lib/uuid.ts'
import { eventTypes, type EventType } from './stage.ts'

/** An event as the storefront script sends it. */
export interface TrackRequest {
  popupId: string
  type: EventType
  pageType: string | null
  requestUrl: string | null
}

/** Maximum size of a body, in bytes. */
export const largestTrackBody = 8 * 1024
/** Maximum lengths in characters; longer values are truncated. */
const maxPageTypeLength = 64
const maxUrlLength = 2048
/** Maximum nesting of the JSON, deeper than any storefront needs. */
const maxDepth = 8

/**
 * Reads the body of a track request. All other fields are ignored: a visitor cannot set the time, address, user agent or customer.
 *
 * @throws INVALID_INPUT that names the invalid field
 */
export function readTrackRequest(body: Buffer): TrackRequest {
  const fields = toFields(body)
  const { popupId, eventType } = fields
  if (popupId === undefined || popupId === null || popupId === '') throw invalid('popupId: missing')
  if (eventType === undefined || eventType === null || eventType === '') throw invalid('eventType: missing')
  const stageId = typeof popupId === 'string' ? canonicalUuid(popupId) : null
  if (stageId === null) throw invalid('popupId: expected the UUID of a stage')
  const type = eventTypes.find((known) => known === eventType)
  if (type === undefined) throw invalid(`eventType: expected one of ${eventTypes.join(', ')}`)
  return {
    popupId: stageId,
    type,
    pageType: readText(fields, 'pageType', maxPageTypeLength),
    requestUrl: readPath(fields),
  }
}

function toFields(body: Buffer): Record<string, unknown> {
  if (!isUtf8(body)) throw invalid('the body is not UTF-8')
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch {
    throw invalid('the body is not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the body is not a JSON object')
  rejectUnsafeKeys(value, 1)
  return value as Record<string, unknown>
}

/** Rejects `__proto__`, which `JSON.parse` turns into an ordinary field, and deep nesting. */
function rejectUnsafeKeys(value: object, depth: number): void {
  if (depth > maxDepth) throw invalid('the body is nested too deeply')
  for (const key of Object.keys(value)) {
    if (key === '__proto__') throw invalid('__proto__: is not allowed')
    const inner = (value as Record<string, unknown>)[key]
    if (typeof inner === 'object' && inner !== null) rejectUnsafeKeys(inner, depth + 1)
  }
}

/**
 * Reads the path of the page. Query and fragment are dropped because they may identify the visitor (a reset token, an e-mail address,
 * a search), the authority because it may contain a password.
 */
function readPath(fields: Record<string, unknown>): string | null {
  const { requestUrl } = fields
  if (typeof requestUrl !== 'string') return readText(fields, 'requestUrl', maxUrlLength)
  // Browsers ignore control characters and spaces around a URL, and read a backslash as a slash.
  // oxlint-disable-next-line no-control-regex
  const text = requestUrl.replace(/[\u0000-\u001f\u007f]/g, '').trim()
  const path = text.split(/[?#]/, 1)[0]!
  if (/^https?:/i.test(path)) return URL.canParse(path) ? clip(new URL(path).pathname) : null
  if (/^[\\/]{2}/.test(path)) return URL.canParse(path, anyPage) ? clip(new URL(path, anyPage).pathname) : null
  // Without a slash in front, `user:password@host/p` is no path.
  return /^(?:[^:@]*$|[\\/])/.test(path) ? clip(path) : null
}

/** Resolves references without a scheme; nothing of it is kept. */
const anyPage = 'http://page.invalid/'

function clip(path: string): string | null {
  return readText({ path }, 'path', maxUrlLength)
}

function readText(fields: Record<string, unknown>, name: string, longest: number): string | null {
  const value = fields[name]
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw invalid(`${name}: expected a string`)
  // Lone surrogates are not characters, and NUL would end the string in other programs.
  return value.slice(0, longest).toWellFormed().replaceAll('\0', '\ufffd')
}

function invalid(message: string): PagecacheError {
  return new PagecacheError('INVALID_INPUT', message)
}

/**
 * Normalises the id by which the shop knows a customer, as stored with events: UUIDs in canonical form, anything else unchanged. Null
 * if it is not a valid id.
 */
export function toCustomerId(text: string): string | null {
  return /^[\w.:@-]{1,64}$/.test(text) ? (canonicalUuid(text) ?? text) : null
}
