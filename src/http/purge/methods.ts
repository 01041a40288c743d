import { PagecacheError } from '../../errors.ts'
import type { HeaderPair } from '../../pages/page.ts'
import { plural } from '../../lib/plural.ts'
import { fieldLines, hasField } from '../../cache/fields.ts'
import { examine, type Accepted, type RequestHead } from '../front/guard.ts'
import { toPurgeOrder, type PurgeOrder, type PurgeSite } from './order.ts'

export interface PurgeMethodsOptions extends PurgeSite {
  /** By the address of the socket; what a request says about whom it comes from gives nobody a right. */
  isPurger(address: string | undefined): boolean
  isTrusted(address: string | undefined): boolean
  /** Every purge by tag only marks pages as stale. */
  softPurge: boolean
  /** Purges here and durably notes what the other reverse proxies are to be told; resolves to the pages removed. */
  purge(order: PurgeOrder, address: string | null): Promise<number>
  onError(message: string, error: unknown): void
}

/** Reason phrase and body are the same text, as clients of Varnish know it. */
export interface PurgeAnswer {
  status: number
  text: string
}

export const forbidden: PurgeAnswer = { status: 403, text: 'Purging is not allowed from this address.' }

/** Methods that are purges, whoever sends them. */
export function isPurgeMethod(method: string): boolean {
  return method === 'PURGE' || method === 'BAN' || method === 'PURGEKEYS'
}

/** The purge methods of the front: who may, what is meant, what is answered. The answer waits for the local purge alone. */
export class PurgeMethods {
  readonly #options: PurgeMethodsOptions

  constructor(options: PurgeMethodsOptions) {
    this.#options = options
  }

  isPurger(address: string | undefined): boolean {
    return this.#options.isPurger(address)
  }

  /** Answers a request that nobody has examined yet. */
  async answer(head: RequestHead, address: string | undefined): Promise<PurgeAnswer> {
    const accepted = examine(head, false)
    return 'status' in accepted
      ? { status: accepted.status, text: accepted.text }
      : this.perform(head, accepted, address)
  }

  /** A trusted proxy may purge for itself and for those who may. One on this machine passes on what any visitor sends. */
  #mayPass(headers: readonly HeaderPair[], address: string | undefined): boolean {
    const forwarded = this.#options.isTrusted(address) ? fieldLines(headers, 'x-forwarded-for') : []
    return forwarded.length === 0 || this.isPurger(lastAddress(forwarded))
  }

  async perform(
    { method, headers }: RequestHead,
    { target, host }: Accepted,
    address: string | undefined,
  ): Promise<PurgeAnswer> {
    // Shops send no Origin: a browser does, on an operator's machine perhaps, for a page that is not to purge anything.
    if (!this.isPurger(address) || !this.#mayPass(headers, address) || hasField(headers, 'origin')) return forbidden
    try {
      const order = toPurgeOrder({ method, target, host, headers }, this.#options, this.#options.softPurge)
      // Varnish's answer to an empty list; there is nothing to note.
      const removed =
        order.kind === 'tags' && order.tags.length === 0 ? 0 : await this.#options.purge(order, address ?? null)
      return { status: 200, text: describe(order, removed) }
    } catch (error) {
      if (error instanceof PagecacheError && error.status < 500) return { status: error.status, text: error.message }
      this.#options.onError('a purge failed', error)
      return error instanceof PagecacheError
        ? { status: 503, text: 'The purge could not be recorded: it has to be sent again.' }
        : { status: 500, text: 'The purge failed: it has to be sent again.' }
    }
  }
}

/** The element that the nearest proxy has added, without a port. */
function lastAddress(lines: readonly string[]): string {
  const last = lines.join(',').split(',').at(-1)!.trim()
  return /^\[([^\]]*)\](?::\d+)?$/.exec(last)?.[1] ?? /^([^:]*):\d+$/.exec(last)?.[1] ?? last
}

function describe(order: PurgeOrder, removed: number): string {
  if (order.kind === 'tags') return `Invalidated ${removed} objects`
  return order.kind === 'urls' ? 'Purged' : `Banned ${plural(removed, 'page')}`
}

/** The fields of an answer. */
export function purgeHeaders({ status, text }: PurgeAnswer): HeaderPair[] {
  return [
    ...(status === 503 ? [['Retry-After', '1'] as const] : []),
    ['Content-Type', 'text/plain; charset=utf-8'],
    ['Cache-Control', 'no-store'],
    ['Content-Length', String(Buffer.byteLength(text))],
  ]
}

/** What can stand in a status line (RFC 9112 §4). */
export function reasonOf({ text }: PurgeAnswer): string {
  return text.replace(/[^\x20-\x7e]+/g, ' ')
}
