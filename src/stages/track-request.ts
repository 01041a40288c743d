import { isUtf8 } from 'node:buffer'
import { PagecacheError } from '../errors.ts'
import { canonicalUuid } from '../lib/uuid.ts'
import { eventTypes, type EventType } from './stage.ts'

/** What a storefront script sends (spec 2, section 4). */
export interface TrackRequest {
  popupId: string
  type: EventType
  pageType: string | null
  requestUrl: string | null
}

/** Bytes of a body. */
export const largestTrackBody = 8 * 1024
/** Characters that are kept; what is longer is cut. */
const longestPageType = 64
const longestUrl = 2048
/** Deeper than anything that a storefront has to say. */
const deepest = 8

/**
 * Reads the body of a track request. Fields that are not asked for are ignored, whatever they claim: time, address, agent,
 * customer.
 *
 * @throws INVALID_INPUT that names what is wrong
 */
export function readTrackRequest(body: Buffer): TrackRequest {
  const fields = toFields(body)
  const { popupId, eventType } = fields
  if (popupId === undefined || popupId === null || popupId === '') throw invalid('popupId: is missing')
  if (eventType === undefined || eventType === null || eventType === '') throw invalid('eventType: is missing')
  const stageId = typeof popupId === 'string' ? canonicalUuid(popupId) : null
  if (stageId === null) throw invalid('popupId: expected the id of a stage, a UUID')
  const type = eventTypes.find((known) => known === eventType)
  if (type === undefined) throw invalid(`eventType: expected one of ${eventTypes.join(', ')}`)
  return {
    popupId: stageId,
    type,
    pageType: readText(fields, 'pageType', longestPageType),
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
  assertHarmless(value, 1)
  return value as Record<string, unknown>
}

/** `JSON.parse` makes `__proto__` a field like any other; nobody behind us may have to know that. */
function assertHarmless(value: object, depth: number): void {
  if (depth > deepest) throw invalid('the body is nested too deeply')
  for (const key of Object.keys(value)) {
    if (key === '__proto__') throw invalid('__proto__: is no field')
    const inner = (value as Record<string, unknown>)[key]
    if (typeof inner === 'object' && inner !== null) assertHarmless(inner, depth + 1)
  }
}

/**
 * The path of the page. Query and fragment may name the visitor (a reset token, an e-mail address, a search), the authority of a URL
 * may hold a password: none of them is kept.
 */
function readPath(fields: Record<string, unknown>): string | null {
  const { requestUrl } = fields
  if (typeof requestUrl !== 'string') return readText(fields, 'requestUrl', longestUrl)
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
  return readText({ path }, 'path', longestUrl)
}

function readText(fields: Record<string, unknown>, name: string, longest: number): string | null {
  const value = fields[name]
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw invalid(`${name}: expected a text`)
  // Half a surrogate pair is no character, and NUL would end the text for other programs.
  return value.slice(0, longest).toWellFormed().replaceAll('\0', '\ufffd')
}

function invalid(message: string): PagecacheError {
  return new PagecacheError('INVALID_INPUT', message)
}
