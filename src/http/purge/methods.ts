import type { Socket } from 'node:net'
import { PagecacheError } from '../../errors.ts'
import type { HeaderPair } from '../../pages/page.ts'
import type { Invalidated } from '../../purge/invalidation.ts'
import { plural } from '../../lib/format.ts'
import { fieldLines, hasField } from '../../cache/fields.ts'
import { textAnswer, type WholeAnswer } from '../answer.ts'
import { forwardingField } from '../forwarded.ts'
import { examine, type Accepted, type RequestHead } from '../front/guard.ts'
import { schemeOf } from '../front/proxied.ts'
import type { RequestRecord } from '../front/request-record.ts'
import { toPurgeOrder, type PurgeOrder, type PurgeSite } from './order.ts'

export interface PurgeMethodsOptions extends PurgeSite {
  /** Whether an address may purge. The address of the socket decides: no header field of a request grants the right. */
  isPurger(address: string | undefined): boolean
  isTrusted(address: string | undefined): boolean
  /** Whether every purge by tag only marks pages as stale. */
  softPurge: boolean
  /** Purges the local pages and queues the deliveries to the other reverse proxies durably. */
  purge(order: PurgeOrder, address: string | null): Promise<PurgeResult>
  onError(message: string, error: unknown): void
}

type PurgeResult = Pick<Invalidated, 'pagesRemoved' | 'softened' | 'unconfirmed'>

const nothing: PurgeResult = { pagesRemoved: 0, softened: [] }

/** The answer to a client that may not purge. */
export const forbidden = purgeAnswer(403, 'Purging is not allowed from this address.')

/** An answer whose reason phrase is its body, as clients of Varnish expect it. */
export function purgeAnswer(status: number, text: string): WholeAnswer {
  const headers: readonly HeaderPair[] = status === 503 ? [['Retry-After', '1']] : []
  // A reason phrase consists of visible ASCII and spaces (RFC 9112 §4).
  const reason = text.replace(/[^\x20-\x7e]+/g, ' ')
  return { ...textAnswer(status, 'text/plain; charset=utf-8', text, headers), reason }
}

/** Whether a method is a purge on every path. */
export function isPurgeMethod(method: string): boolean {
  return method === 'PURGE' || method === 'BAN' || method === 'PURGEKEYS'
}

/** Answers the purge methods, once the local pages are purged; the other reverse proxies follow later. */
export class PurgeMethods {
  readonly #options: PurgeMethodsOptions

  constructor(options: PurgeMethodsOptions) {
    this.#options = options
  }

  isPurger(address: string | undefined): boolean {
    return this.#options.isPurger(address)
  }

  /** Answers a request that the guard has not examined yet. */
  async answer(head: RequestHead, socket: Socket, record?: RequestRecord): Promise<WholeAnswer> {
    const accepted = examine(head, false, schemeOf(socket))
    if ('status' in accepted) return purgeAnswer(accepted.status, accepted.text)
    record?.accept(accepted, 'purge')
    return this.perform(head, accepted, socket.remoteAddress)
  }

  /** Whether a request from an address may purge. */
  mayPurge(headers: readonly HeaderPair[], address: string | undefined): boolean {
    return this.#refusal(headers, address) === null
  }

  #refusal(headers: readonly HeaderPair[], address: string | undefined): WholeAnswer | null {
    if (!this.isPurger(address)) return forbidden
    const reason = this.#forwardingFault(headers, address)
    if (reason !== null) return purgeAnswer(403, `Purging is not allowed${reason}`)
    // Shops send no Origin. A browser does, perhaps on an operator's machine, for a page that must not purge anything.
    if (hasField(headers, 'origin'))
      return purgeAnswer(403, 'Purging is not allowed: a request with Origin comes from a browser.')
    return null
  }

  /** Why a forwarded request may not purge; null if the address asks for itself, or trusted proxies name a purger. A proxy on this machine forwards whatever any visitor sends. */
  #forwardingFault(headers: readonly HeaderPair[], address: string | undefined): string | null {
    const { isTrusted } = this.#options
    const trusted = isTrusted(address)
    const forwarded = trusted ? fieldLines(headers, 'x-forwarded-for') : []
    if (forwarded.length === 0) {
      const field = forwardingField(headers)
      if (field === null) return null
      const fault = trusted ? 'but no X-Forwarded-For names its sender' : 'and that proxy is not in trustedProxies'
      return `: ${field} says that a proxy forwarded the request, ${fault}.`
    }
    const addresses = forwarded.join(',').split(',').map(withoutPort)
    // A trusted proxy behind another one names that one last, which may be on this machine: its own client decides.
    const sender = addresses.findLast((each) => !isTrusted(each)) ?? addresses[0]
    return this.isPurger(sender) ? null : ' from the address in X-Forwarded-For.'
  }

  /** Answers a request that the guard has accepted. */
  async perform(
    { method, headers }: RequestHead,
    { target, host }: Accepted,
    address: string | undefined,
  ): Promise<WholeAnswer> {
    const refusal = this.#refusal(headers, address)
    if (refusal !== null) return refusal
    try {
      const order = toPurgeOrder({ method, target, host, headers }, this.#options, this.#options.softPurge)
      // Varnish answers an empty list of tags like this, and there is nothing to record.
      const isEmpty = order.kind === 'tags' && order.tags.length === 0
      const purged = isEmpty ? nothing : await this.#options.purge(order, address ?? null)
      return withUnconfirmed(
        withSoftened(purgeAnswer(200, describe(order, purged.pagesRemoved)), purged.softened),
        purged,
      )
    } catch (error) {
      if (error instanceof PagecacheError && error.status < 500) return purgeAnswer(error.status, error.message)
      this.#options.onError('A purge failed', error)
      return error instanceof PagecacheError
        ? purgeAnswer(503, 'The purge could not be recorded: send it again.')
        : purgeAnswer(500, 'The purge failed: send it again.')
    }
  }
}

/** Most tags that the answer names. */
const maxNamed = 20

/** Names the tags that the purge budget purged softly; characters that a header cannot have are percent-encoded. */
function withSoftened(answer: WholeAnswer, softened: PurgeResult['softened']): WholeAnswer {
  if (softened.length === 0) return answer
  const tags = softened.slice(0, maxNamed).map(({ tag }) => encodeURI(tag.toWellFormed()))
  return { ...answer, headers: [...answer.headers, ['X-Purge-Softened', tags.join(' ')]] }
}

/** Names the nodes that may still serve the pages for a while. */
function withUnconfirmed(answer: WholeAnswer, { unconfirmed = [] }: PurgeResult): WholeAnswer {
  if (unconfirmed.length === 0) return answer
  return { ...answer, headers: [...answer.headers, ['X-Purge-Unconfirmed', unconfirmed.join(', ')]] }
}

/** An element of X-Forwarded-For as an address. */
function withoutPort(element: string): string {
  const text = element.trim()
  return /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([^:]*):\d+$/.exec(text)?.[1] ?? text
}

function describe(order: PurgeOrder, removed: number): string {
  if (order.kind === 'tags') return `Invalidated ${removed} objects`
  return order.kind === 'urls' ? 'Purged' : `Banned ${plural(removed, 'page')}`
}
