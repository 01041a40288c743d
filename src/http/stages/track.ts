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
import {
  failure,
  refusal,
  type StageAnswer,
  type StagePlace,
  type StageRequest,
  type StagesOptions,
} from './request.ts'

const success = '{"success":true}'

/** `POST /vendor-stage/track`, and the rate limit that it shares with its neighbour. */
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

  /** Whether this visitor may ask once more. */
  admit(request: StageRequest): boolean {
    return this.#addresses.take(visitorBlock(request, this.#options), this.#options.now())
  }

  /** Why an event is not taken, as far as its head tells; null where its body decides. */
  refuse(request: StageRequest): StageAnswer | null {
    if (!isOurOrigin(request, this.#options))
      return this.#deny('origin', 403, 'Events are taken from pages of the shop alone.')
    if (!this.admit(request)) return this.#tooMany('rate_address')
    if (!this.#all.take('', this.#options.now())) return this.#tooMany('rate_total')
    return isTextOrJson(request)
      ? null
      : this.#deny('malformed', 400, 'Expected application/json, or the text/plain of a beacon.')
  }

  tooLarge(): StageAnswer {
    return this.#deny('too_large', 413, 'The body is larger than 8 KiB.')
  }

  /** Takes an event that was not refused; the answer is there when it is durable. */
  async take(request: StageRequest, place: StagePlace, body: Buffer): Promise<StageAnswer> {
    const asked = read(body)
    if (asked instanceof PagecacheError) return this.#deny('malformed', 400, asked.message)
    if (!this.#stages.take(asked.popupId, this.#options.now())) return this.#tooMany('rate_stage')
    const { counts, tracker, now } = this.#options
    const automated = detectAutomation((name) => request.field(name))
    const known = asked.type === 'impression' ? readStageCookies(request.field('cookie')).session : null
    const session = asked.type === 'impression' ? (known ?? newSession()) : null
    try {
      const customer = customerOf(request, this.#options)
      const outcome = await tracker.track({
        ...asked,
        salesChannelId: place.channel.id,
        // Waiting for what is there would cost every event a turn.
        customerId: customer instanceof Promise ? await customer : customer,
        at: now(),
        session: session === null ? null : sessionDigest(session),
        counted: automated === null,
      })
      if (outcome === 'unknown') return this.#deny('unknown_stage', 404, 'There is no such stage.')
      if (outcome === 'ignored') counts.ignored[automated ?? 'not_recording'] += 1
      else counts.recorded += 1
      return {
        status: 200,
        body: success,
        headers: cookiesFor(request, place, asked, outcome, known === null ? session : null),
      }
    } catch (error) {
      counts.refused.unavailable += 1
      return failure(error, this.#options)
    }
  }

  #deny(reason: RefusedReason, status: number, message: string, headers: HeaderPair[] = []): StageAnswer {
    this.#options.counts.refused[reason] += 1
    return refusal(status, message, headers)
  }

  #tooMany(reason: RefusedReason): StageAnswer {
    return this.#deny(reason, 429, 'Too many requests.', [['Retry-After', '1']])
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
function cookiesFor(
  { scheme }: StageRequest,
  { channel }: StagePlace,
  { type, popupId }: TrackRequest,
  outcome: TrackOutcome,
  session: string | null,
): HeaderPair[] {
  if (outcome === 'ignored') return []
  const secure = scheme === 'https'
  const path = channel.path + stagePrefix
  const lines = session === null ? [] : [sessionLine(session, path, secure)]
  if (type === 'permanent_dismiss' || outcome === 'shown_once') lines.push(hiddenLine(popupId, path, secure))
  return lines.map((line) => ['Set-Cookie', line])
}

/** A page of a channel sent it, or of the very site that it was sent to, or nobody says. */
function isOurOrigin(request: StageRequest, { channels, requireOrigin }: StagesOptions): boolean {
  const origin = request.field('origin')
  if (origin === null) return !requireOrigin
  return (
    origin === `${request.scheme}://${request.host}` ||
    channels.all.some((channel) => origin === `${channel.scheme}://${channel.host}`)
  )
}

/** A beacon with a text is `text/plain`; whoever says nothing means JSON. */
function isTextOrJson(request: StageRequest): boolean {
  const type = (request.field('content-type') ?? 'application/json').split(';', 1)[0]!.trim().toLowerCase()
  return type === 'application/json' || type === 'text/plain'
}

/** The network of the visitor: of the last address that no proxy of ours has. */
function visitorBlock(request: StageRequest, { isTrusted }: StagesOptions): string {
  let { address } = request
  if (address !== undefined && !isTrusted(address)) return addressBlock(address)
  const forwarded = (request.field('x-forwarded-for') ?? '').split(',')
  while (isTrusted(address)) {
    const before = forwarded.pop()?.trim() ?? ''
    if (ipFamily(before) === 0) break
    address = before
  }
  // A socket of this machine has no address.
  return address === undefined ? '' : addressBlock(address)
}
