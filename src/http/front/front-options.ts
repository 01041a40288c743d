import type { IncomingMessage } from 'node:http'
import type { OwnPath } from '../../cache/own-path.ts'
import type { Refuse } from '../../cache/refusal.ts'
import type { StorefrontCache } from '../../cache/storefront-cache.ts'
import type { HeaderPair } from '../../pages/page.ts'
import type { Answer } from '../answer.ts'
import type { PurgeMethods } from '../purge/methods.ts'
import type { StageEndpoints } from '../stages/request.ts'
import type { Debugging } from './debug.ts'
import type { ErrorPage } from './error-page.ts'
import type { Accepted } from './guard.ts'
import type { AccessLog } from './request-record.ts'
import type { Traffic } from '../../traffic/traffic.ts'

/** The parts that the front dispatches requests to. A reload replaces their values in place, under open connections. */
export interface FrontOptions {
  cache: StorefrontCache
  purges: PurgeMethods
  answerOwn: AnswerOwn
  stages: StageEndpoints
  errorPage: ErrorPage
  debugging: Debugging
  isTrusted(address: string | undefined): boolean
  traffic: Traffic
  /** Null: no access log is kept. */
  accessLog: AccessLog | null
  /** Marks the start of a request that is not answered from memory. Returns a function to call when it ends. */
  begin(): () => void
  onError(message: string, error: unknown): void
}

/** Answers a request whose canonical path belongs to the daemon. */
export type AnswerOwn = (path: OwnPath, request: IncomingMessage, accepted: Accepted, reply: Reply) => void

/** How an endpoint of the daemon answers: through Node's response, or on the socket. */
export interface Reply {
  /** @param extra further fields; an answer may be shared by several requests and is never changed */
  send(answer: Answer, extra?: readonly HeaderPair[]): void
  /** Lets a client that waits for 100 (Continue) send its body. */
  invite(): void
  /** Forwards the request to the shop, with the body already read. */
  pass: PassOn
}

/**
 * Forwards a request to the shop.
 *
 * @param fallbackSite the site to use when the Host belongs to no sales channel
 * @param refuse builds the answer when the shop gives none
 * @returns false when there is no such site either; nothing was sent then
 */
export type PassOn = (
  body: Buffer,
  fallbackSite: Pick<Accepted, 'scheme' | 'host'> | null,
  refuse: Refuse,
) => Promise<boolean>
