import type { MemoryEntry } from '../pages/memory-entry.ts'
import type { Encoding, HeaderPair } from '../pages/page.ts'
import { pieceSize } from '../pages/piece-digests.ts'
import { hidden } from './browser.ts'
import { noted, type CacheStatus } from './cache-status.ts'
import { formOf, type Presentation } from './form.ts'
import { ageAt } from './freshness.ts'
import { inFlight } from './in-flight.ts'
import type { ByteRange } from './range.ts'
import { bodiless, notModifiedHeaders, partial, sizeIn, unsatisfiable } from './present.ts'
import { encodingFor, viewHeaders } from './view.ts'

/** What a page in memory answers to a request, with headers that are valid for the current second. */
export interface View {
  status: number
  headers: HeaderPair[]
  /** Null: an answer without a body. */
  body: Buffer | null
  /** Null: it is no page. */
  entry: MemoryEntry | null
  /** A slot for the rendered response bytes, kept as long as the view is valid. */
  bytes: Buffer | null
  /** How often it was sent without them: see `sendView`. */
  sends: number
  /** Whether it was read from the disk for this request: the next read overwrites its body. */
  fromDisk: boolean
}

type Lasting = 'whole' | 'head' | 'not-modified'

/** The views of one page that other requests of the same second get too, by form and coding. */
type Views = Record<Lasting, Partial<Record<Encoding, View>>> & { second: number }

/**
 * The view of a fresh page in memory; null if the required body is not in memory. Views of a whole page, its head and its 304 are built
 * once a second, ranges for each request.
 */
export function viewOf(entry: MemoryEntry, request: Presentation, now: number, isHidden: boolean): View | null {
  const { page } = entry
  // The status forbids a body.
  if (bodiless.has(page.status)) return null
  const form = formOf(page, request, now)
  const shown = (view: View | null) => (view === null || !isHidden ? view : { ...view, headers: hidden(view.headers) })
  if (form.kind === 'range') return shown(cut(entry, form.range, now))
  if (form.kind === 'unsatisfiable')
    return shown({ ...unsatisfiable(page.originalSize, now, hit(entry, now)), ...rest(entry) })
  const encoding = encodingFor(page, request.acceptEncoding)
  if (form.kind === 'whole' && bodyIn(entry, encoding) === null) return null
  // The length is unknown until the body is encoded.
  if (form.kind === 'head' && sizeIn(entry, encoding) === null) return null
  const second = Math.floor(ageAt(page, now))
  let views = entry.views as Views | undefined
  if (views?.second !== second) entry.views = views = { second, whole: {}, head: {}, 'not-modified': {} }
  return (views[form.kind][encoding] ??= shown(build(entry, form.kind, encoding, now))!)
}

function build(entry: MemoryEntry, kind: Lasting, encoding: Encoding, now: number): View {
  const { page } = entry
  const outcome = hit(entry, now)
  if (kind === 'not-modified')
    return { status: 304, headers: notModifiedHeaders(page, encoding, now, outcome), body: null, ...rest(entry) }
  const body = kind === 'whole' ? entry.bodies[encoding]! : null
  const headers = viewHeaders(page, encoding, body?.length ?? sizeIn(entry, encoding), now, outcome)
  return { status: page.status, headers, body, ...rest(entry) }
}

/** A range of the identity body; null when that is not in memory. */
function cut(entry: MemoryEntry, range: ByteRange, now: number): View | null {
  const { page } = entry
  const body = bodyIn(entry, 'identity')
  if (body === null) return null
  const part = body.subarray(range.start, range.end + 1)
  return { ...partial(page, part, range, page.originalSize, now, hit(entry, now)), ...rest(entry) }
}

/** A body that may be sent from memory; null otherwise. Large bodies are streamed in pieces while many readers are slow. */
function bodyIn(entry: MemoryEntry, encoding: Encoding): Buffer | null {
  const body = entry.bodies[encoding]
  return body === undefined || (body.length > pieceSize && inFlight.bodies.crowded) ? null : body
}

function hit(entry: MemoryEntry, now: number): CacheStatus {
  return noted({ kind: 'hit', ttl: (entry.page.staleAt - now) / 1000 }, entry, now)
}

function rest(entry: MemoryEntry): Pick<View, 'entry' | 'bytes' | 'sends' | 'fromDisk'> {
  return { entry, bytes: null, sends: 0, fromDisk: false }
}
