import type { StorefrontCache } from '../../cache/storefront-cache.ts'
import type { Accepted } from './guard.ts'
import type { AnswerOwn } from '../api/own.ts'
import type { PurgeMethods } from '../purge/methods.ts'
import type { AccessLog } from './request-record.ts'
import type { StageEndpoints } from '../stages/endpoints.ts'
import type { Traffic } from './traffic.ts'

export interface FrontOptions {
  cache: StorefrontCache
  purges: PurgeMethods
  answerOwn: AnswerOwn
  stages: StageEndpoints
  isTrusted(address: string | undefined): boolean
  traffic: Traffic
  /** Null: no access log is kept. */
  accessLog: AccessLog | null
  /** A request that does not come from memory has begun; what comes back is called when it is over. */
  begin(): () => void
  onError(message: string, error: unknown): void
}

/** `standIn`: the site that is meant where the Host names none. False where there is no such site: nothing was answered. */
export type PassOn = (body: Buffer, standIn: Pick<Accepted, 'scheme' | 'host'> | null) => Promise<boolean>
