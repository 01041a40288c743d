import { PagecacheError } from '../../errors.ts'
import { addressBlock } from '../../lib/address-block.ts'
import { ipFamily } from '../../lib/ip-family.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { stagePrefix } from '../../cache/own-path.ts'
import { detectAutomation } from '../../stages/automated.ts'
import type { TrackOutcome } from '../../stages/batch.ts'
import type { RefusedReason } from '../../stages/counts.ts'
import { openRateLimit, type RateLimit } from '../../stages/rate-limit.ts'
import { readTrackRequest, type TrackRequest } from '../../stages/track-request.ts'
import { customerOf } from './customer.ts'
import { hiddenLine, newSession, readStageCookies, sessionDigest, sessionLine } from './cookies.ts'
import type { WholeAnswer } from '../answer.ts'
import { failure, refusal, success, type StagePath, type StageRequest, type StagesOptions } from './request.ts'

/** `POST /vendor-stage/track`, with the rate limit that it shares with `active`. */
export class TrackEndpoint {
  readonly #options: StagesOptions
  readonly #addresses: RateLimit
  readonly #stages: RateLimit
  readonly #all: RateLimit

  constructor(options: StagesOptions) {
    this.#options = options
    const { rateLimit, shared, now } = options
    this.#addresses = openRateLimit('events of addresses', rateLimit.perAddress, shared, now)
    this.#stages = openRateLimit('events of stages', rateLimit.perStage, shared, now)
    this.#all = openRateLimit('events', rateLimit.total, shared, now)
  }

  /** Whether the rate limit allows another request from this visitor. */
  admit(request: StageRequest): boolean {
    return this.#addresses.take(visitorBlock(request, this.#options), this.#options.now())
  }

  /** Rejects an event by its head; null where the head is acceptable. */
  refuse(request: StageRequest): WholeAnswer | null {
    if (!isOurOrigin(request, this.#options))
      return this.#deny('origin', 403, 'Events are only accepted from pages of the shop.')
    if (!this.admit(request)) return this.#tooMany('rate_address')
    if (!this.#all.take('', this.#options.now())) return this.#tooMany('rate_total')
    return isTextOrJson(request)
      ? null
      : this.#deny('malformed', 400, 'Expected application/json, or text/plain as sent by a beacon.')
  }

  tooLarge(): WholeAnswer {
    return this.#deny('too_large', 413, 'The body is larger than 8 KiB.')
  }

  /** Records an event that `refuse` has let pass. Resolves once the event is durable. */
  async record(request: StageRequest, path: StagePath, body: Buffer): Promise<WholeAnswer> {
    const event = parseEvent(body)
    if (event instanceof PagecacheError) return this.#deny('malformed', 400, event.message)
    if (!this.#stages.take(event.popupId, this.#options.now())) return this.#tooMany('rate_stage')
    const { counts, tracker, now } = this.#options
    const automated = detectAutomation((name) => request.field(name))
    const ownSession = event.type === 'impression' ? readStageCookies(request.field('cookie')).session : null
    const session = event.type === 'impression' ? (ownSession ?? newSession()) : null
    try {
      const customer = customerOf(request, this.#options)
      const outcome = await tracker.track({
        ...event,
        salesChannelId: path.channel.id,
        // Awaiting a plain value would cost every event a turn of the event loop.
        customerId: customer instanceof Promise ? await customer : customer,
        at: now(),
        session: session === null ? null : sessionDigest(session),
        counted: automated === null,
      })
      if (outcome === 'unknown') return this.#deny('unknown_stage', 404, 'This stage does not exist.')
      if (outcome === 'ignored') counts.ignored[automated ?? 'not_recording'] += 1
      else counts.recorded += 1
      return success({}, cookiesFor(request, path, event, outcome, ownSession === null ? session : null))
    } catch (error) {
      counts.refused.unavailable += 1
      return failure(error, this.#options)
    }
  }

  #deny(reason: RefusedReason, status: number, message: string, headers: HeaderPair[] = []): WholeAnswer {
    this.#options.counts.refused[reason] += 1
    return refusal(status, message, headers)
  }

  #tooMany(reason: RefusedReason): WholeAnswer {
    return this.#deny(reason, 429, 'Too many requests.', [['Retry-After', '1']])
  }
}

function parseEvent(body: Buffer): TrackRequest | PagecacheError {
  try {
    return readTrackRequest(body)
  } catch (error) {
    if (error instanceof PagecacheError) return error
    throw error
  }
}

/** The cookies that a recorded event sets. */
function cookiesFor(
  { scheme }: StageRequest,
  { channel }: StagePath,
  { type, popupId }: TrackRequest,
  outcome: TrackOutcome,
  session: string | null,
): HeaderPair[] {
  if (outcome === 'ignored') return []
  const secure = scheme === 'https'
  const cookiePath = channel.path + stagePrefix
  const lines = session === null ? [] : [sessionLine(session, cookiePath, secure)]
  if (type === 'permanent_dismiss' || outcome === 'shown_once') lines.push(hiddenLine(popupId, cookiePath, secure))
  return lines.map((line) => ['Set-Cookie', line])
}

/** Whether `Origin` names a sales channel or the requested site; a missing one counts unless it is required. */
function isOurOrigin(request: StageRequest, { channels, requireOrigin }: StagesOptions): boolean {
  const origin = request.field('origin')
  if (origin === null) return !requireOrigin
  return (
    origin === `${request.scheme}://${request.host}` ||
    channels.all.some((channel) => origin === `${channel.scheme}://${channel.host}`)
  )
}

/** Whether the body is JSON or the `text/plain` of a beacon. Without a type it is taken as JSON. */
function isTextOrJson(request: StageRequest): boolean {
  const type = (request.field('content-type') ?? 'application/json').split(';', 1)[0]!.trim().toLowerCase()
  return type === 'application/json' || type === 'text/plain'
}

/** The visitor's network: that of the last address that is not a trusted proxy. */
function visitorBlock(request: StageRequest, { isTrusted }: StagesOptions): string {
  let { address } = request
  if (address !== undefined && !isTrusted(address)) return addressBlock(address)
  const forwarded = (request.field('x-forwarded-for') ?? '').split(',')
  while (isTrusted(address)) {
    const before = forwarded.pop()?.trim() ?? ''
    if (ipFamily(before) === 0) break
    address = before
  }
  // Peers on a Unix socket have no address.
  return address === undefined ? '' : addressBlock(address)
}
