import { Readable } from 'node:stream'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../lib/clock.ts'
import { parseHttpDate } from '../lib/http-date.ts'
import { decode } from '../pages/codec.ts'
import type { HeaderPair, Page, PageDraft } from '../pages/page.ts'
import type { PageStore } from '../pages/page-store.ts'
import { pieceSize } from '../pages/piece-digests.ts'
import type { BudgetShare } from './body.ts'
import { isStrong } from './conditional.ts'
import { hasMarkup } from './esi/response.ts'
import { rangeOf } from './fetched.ts'
import { FieldNames, fieldValue, hasField, withoutFields } from './fields.ts'
import { tagsOf } from './forward.ts'
import { digest } from './ledger.ts'
import type { Lookup } from './lookup.ts'
import { OriginError, type OriginResponse } from './origin.ts'
import { parseContentRange, type ByteRange } from './range.ts'
import { validatorsOf } from './validation.ts'
import { selects } from './vary.ts'
import type { HeldPage } from './view.ts'

/** A stored part of a page, and what the whole page lacks. */
export interface Part {
  page: Page
  /** The condition for combining them: a strong validator. */
  validator: readonly [name: 'etag' | 'last-modified', value: string]
  missing: ByteRange
}

/** The most parts that are remembered. Others are not completed. */
const mostRemembered = 10_000

/** Fields that say together how a response may be stored. */
const lifetimeFields = ['cache-control', 'cdn-cache-control', 'expires', 'pragma']

const describingPart = new FieldNames(['content-range', 'content-length'])

/** Completes stored parts of pages, so that only the rest is requested from the shop (RFC 9111 §3.4). */
export class Parts {
  readonly #store: PageStore
  readonly #now: Clock
  /** Digests of the keys that have parts, so that other misses cost nothing. */
  readonly #keys = new LRUCache<string, true>({ max: mostRemembered })

  constructor(store: PageStore, now: Clock) {
    this.#store = store
    this.#now = now
  }

  /** Remembers that a part of a page was stored. */
  note({ key, range }: PageDraft): void {
    if (range !== null) this.#keys.set(digest(key), true)
  }

  /** The part of a whole page that lacks only its end or its beginning; null for none. */
  find(lookup: Lookup): Part | null {
    if (this.#keys.size === 0 || !this.#keys.has(digest(lookup.key))) return null
    if (!lookup.mayReuse || lookup.odd || lookup.field('range') !== null) return null
    const parts = this.#store.find(lookup.key).filter((page) => selects(page, lookup))
    return parts.map((page) => this.#toPart(page)).find((part) => part !== null) ?? null
  }

  #toPart(page: Page): Part | null {
    const validator = strongValidator(page.headers, this.#now())
    if (page.range === null || validator === null) return null
    const { start, end, total } = page.range
    if (start === 0 && end + 1 < total) return { page, validator, missing: { start: end + 1, end: total - 1 } }
    return start > 0 && end + 1 === total ? { page, validator, missing: { start: 0, end: start - 1 } } : null
  }

  /**
   * The response with the whole page, or the response itself where it is no range. Null where it is not the rest of the
   * same representation, or the part exceeds the budget; its body is then not used.
   *
   * @param share charged with the part until the body is closed
   */
  async complete(part: Part, response: OriginResponse, share: BudgetShare): Promise<OriginResponse | null> {
    if (response.status !== 206 && response.status !== 416) return response
    if (!isRest(part, response, this.#now())) return null
    const { page, missing } = part
    const kept = share.take(page.originalSize) ? await this.#read(page) : null
    if (kept === null) {
      share.release()
      return null
    }
    const update = withoutFields(response.headers, describingPart)
    const updated = new FieldNames([...describingPart, ...update.map(([name]) => name.toLowerCase())])
    // One may override another: a targeted field of the part must not decide about a rest that is private.
    if (lifetimeFields.some((name) => updated.has(name))) for (const name of lifetimeFields) updated.add(name)
    const body = Readable.from(joined(kept, response.body, missing), { objectMode: false })
    body.once('close', () => {
      share.release()
      response.body.destroy()
    })
    return {
      ...response,
      status: 200,
      headers: [...withoutFields(page.headers, updated), ...update, ['Content-Length', String(page.range!.total)]],
      body,
    }
  }

  /** The bytes of a part; null when they no longer exist. */
  async #read(page: Page): Promise<Buffer | null> {
    const stored = await this.#store.readBody(page)
    return stored === null || page.encoding === 'identity' ? stored : decode(stored, page.encoding, page.originalSize)
  }
}

/** The request fields that ask for what the cache lacks of a page. */
export function selection(lookup: Lookup, stale: HeldPage | null, part: Part | null): HeaderPair[] {
  if (stale !== null) return validatorsOf(stale.page)
  if (part === null) return rangeOf(lookup)
  const { validator, missing } = part
  return [
    ['range', missing.start === 0 ? `bytes=0-${missing.end}` : `bytes=${missing.start}-`],
    ['if-range', validator[1]],
  ]
}

/** Whether a response is the rest of the page that the part belongs to. */
function isRest({ page, validator, missing }: Part, { status, headers }: OriginResponse, now: number): boolean {
  const range = parseContentRange(fieldValue(headers, 'content-range'))
  const [name, value] = validator
  return (
    status === 206 &&
    range !== null &&
    range.start === missing.start &&
    range.end === missing.end &&
    range.total === page.range!.total &&
    fieldValue(headers, name) === value &&
    strongValidator(headers, now) !== null &&
    !hasField(headers, 'content-encoding') &&
    !hasMarkup(headers) &&
    // Purges find the page by its tags, which are not among the stored fields.
    (page.tags.length === 0 || tagsOf(headers).length > 0) &&
    // Nor are the client states in which it must not be served.
    (page.states.length === 0 || hasField(headers, 'sw-invalidation-states'))
  )
}

/** The validator by which two responses are known to have the same bytes (RFC 9110 §8.8.1, §8.8.2.2). */
function strongValidator(headers: readonly HeaderPair[], now: number): Part['validator'] | null {
  const etag = fieldValue(headers, 'etag')
  if (etag !== null) return isStrong(etag) ? ['etag', etag] : null
  const value = fieldValue(headers, 'last-modified')
  const modified = parseHttpDate(value ?? '', now)
  const date = parseHttpDate(fieldValue(headers, 'date') ?? '', now)
  return value !== null && modified !== null && date !== null && date - modified >= 1000
    ? ['last-modified', value]
    : null
}

async function* joined(kept: Buffer, rest: Readable, { start, end }: ByteRange): AsyncGenerator<Buffer> {
  if (start > 0) yield* copiesOf(kept)
  let missing = end - start + 1
  for await (const chunk of rest as AsyncIterable<Buffer>) {
    missing -= chunk.length
    // No byte beyond the announced length may follow the response on the visitor's connection.
    if (missing < 0) break
    yield chunk
  }
  if (missing !== 0) throw new OriginError('the range has a different length than its Content-Range', 'broken')
  if (start === 0) yield* copiesOf(kept)
}

/** A part waiting to be stored is also in the writer's queue and in memory, but a sender frees the pieces that it has sent. */
function* copiesOf(kept: Buffer): Generator<Buffer> {
  for (let at = 0; at < kept.length; at += pieceSize) yield Buffer.from(kept.subarray(at, at + pieceSize))
}
