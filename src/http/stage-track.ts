import type { IncomingMessage } from 'node:http'
import { PagecacheError } from '../errors.ts'
import { addressBlock } from '../lib/address-block.ts'
import { ipFamily } from '../lib/ip-family.ts'
import { automatedBy } from '../stages/automated.ts'
import type { Outcome } from '../stages/batch.ts'
import type { RefusedReason } from '../stages/counts.ts'
import { toCustomerId } from '../stages/customer-id.ts'
import { createRateLimit, type RateLimit } from '../stages/rate-limit.ts'
import { largestTrackBody, readTrackRequest, type TrackRequest } from '../stages/track-request.ts'
import { readSmallBody } from './read-small-body.ts'
import { hiddenLine, newSession, readStageCookies, sessionDigest, sessionLine } from './stage-cookies.ts'
import { fail, refuse, taken, type StagesOptions, type StageVisit } from './stage-visit.ts'

/** `POST /vendor-stage/track`, and the rate limit that it shares with its neighbour. */
export class TrackEndpoint {
  readonly #options: StagesOptions
  readonly #addresses: RateLimit
  readonly #stages: RateLimit
  readonly #all: RateLimit

  constructor(options: StagesOptions) {
    this.#options = options
    this.#addresses = createRateLimit(options.rateLimit.perAddress)
    this.#stages = createRateLimit(options.rateLimit.perStage)
    this.#all = createRateLimit(options.rateLimit.total)
  }

  /** Whether this visitor may ask once more. */
  admit(request: IncomingMessage): boolean {
    return this.#addresses.take(visitorBlock(request, this.#options), this.#options.now())
  }

  async track(visit: StageVisit): Promise<void> {
    const { request } = visit
    if (!isOurOrigin(visit, this.#options)) return this.#deny(visit, 'origin', 403, 'Events are taken from pages of the shop alone.')
    if (!this.admit(request)) return this.#tooMany(visit, 'rate_address')
    if (!this.#all.take('', this.#options.now())) return this.#tooMany(visit, 'rate_total')
    if (!isTextOrJson(request)) return this.#deny(visit, 'malformed', 400, 'Expected application/json, or the text/plain of a beacon.')
    const body = await readSmallBody(request, largestTrackBody, () => refuse(visit, 408, 'The request came too slowly.')).catch(() => undefined)
    // The visitor has gone in the midst of it.
    if (body === undefined) return
    if (body === null) return this.#deny(visit, 'too_large', 413, 'The body is larger than 8 KiB.')
    const asked = read(body)
    if (asked instanceof PagecacheError) return this.#deny(visit, 'malformed', 400, asked.message)
    if (!this.#stages.take(asked.popupId, this.#options.now())) return this.#tooMany(visit, 'rate_stage')
    await this.#record(visit, asked)
  }

  async #record(visit: StageVisit, asked: TrackRequest): Promise<void> {
    const { request, channel } = visit
    const { counts, tracker, now } = this.#options
    const automated = automatedBy((name) => request.headers[name] as string | undefined)
    const known = asked.type === 'impression' ? readStageCookies(request.headers.cookie).session : null
    const session = asked.type === 'impression' ? (known ?? newSession()) : null
    try {
      const outcome = await tracker.track({
        ...asked,
        salesChannelId: channel.id,
        customerId: customerOf(request, this.#options),
        at: now(),
        session: session === null ? null : sessionDigest(session),
        counted: automated === null,
      })
      if (outcome === 'unknown') return this.#deny(visit, 'unknown_stage', 404, 'There is no such stage.')
      if (outcome === 'ignored') counts.ignored[automated ?? 'not_recording'] += 1
      else counts.recorded += 1
      const cookies = cookiesFor(visit, asked, outcome, known === null ? session : null)
      taken(visit, cookies)
    } catch (error) {
      counts.refused.unavailable += 1
      fail(visit, this.#options, error)
    }
  }

  #deny(visit: StageVisit, reason: RefusedReason, status: number, message: string, headers: Record<string, string> = {}): void {
    this.#options.counts.refused[reason] += 1
    refuse(visit, status, message, headers)
  }

  #tooMany(visit: StageVisit, reason: RefusedReason): void {
    this.#deny(visit, reason, 429, 'Too many requests.', { 'Retry-After': '1' })
  }
}

function read(body: Buffer): TrackRequest | PagecacheError {
  try {
    return readTrackRequest(body)
  } catch (error) {
    if (error instanceof PagecacheError) return error
    throw error
  }
}

/** What the visitor's browser has to remember of a recorded event. */
function cookiesFor({ accepted, path }: StageVisit, { type, popupId }: TrackRequest, outcome: Outcome, session: string | null): string[] {
  if (outcome === 'ignored') return []
  const secure = accepted.scheme === 'https'
  const lines = session === null ? [] : [sessionLine(session, path, secure)]
  return type === 'permanent_dismiss' || outcome === 'shown_once' ? [...lines, hiddenLine(popupId, path, secure)] : lines
}

/** A page of a channel sent it, or of the very site that it was sent to, or nobody says. */
function isOurOrigin({ request, accepted }: StageVisit, { channels, requireOrigin }: StagesOptions): boolean {
  const { origin } = request.headers
  if (origin === undefined) return !requireOrigin
  return origin === `${accepted.scheme}://${accepted.host}` || channels.all.some((channel) => origin === `${channel.scheme}://${channel.host}`)
}

/** A beacon with a text is `text/plain`; whoever says nothing means JSON. */
function isTextOrJson(request: IncomingMessage): boolean {
  const type = (request.headers['content-type'] ?? 'application/json').split(';', 1)[0]!.trim().toLowerCase()
  return type === 'application/json' || type === 'text/plain'
}

/** Who is logged in, as a proxy of ours says; never as the visitor does. */
function customerOf(request: IncomingMessage, { customerHeader, isTrusted }: StagesOptions): string | null {
  if (customerHeader === null || !isTrusted(request.socket.remoteAddress)) return null
  const value = request.headers[customerHeader]
  return typeof value === 'string' ? toCustomerId(value) : null
}

/** The network of the visitor: of the last address that no proxy of ours has. */
function visitorBlock(request: IncomingMessage, { isTrusted }: StagesOptions): string {
  let address = request.socket.remoteAddress
  if (address !== undefined && !isTrusted(address)) return addressBlock(address)
  const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',')
  while (isTrusted(address)) {
    const before = forwarded.pop()?.trim() ?? ''
    if (ipFamily(before) === 0) break
    address = before
  }
  // A socket of this machine has no address.
  return address === undefined ? '' : addressBlock(address)
}
