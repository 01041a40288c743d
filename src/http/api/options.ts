import type { App } from '../../app.ts'
import type { Authority } from '../../auth/authority.ts'
import type { Judge } from '../../auth/judgement.ts'
import type { Channel } from '../../cache/channel.ts'
import type { StageEndpoints } from '../stages/request.ts'

/** The parts that the endpoints of the daemon need. */
export interface ApiOptions {
  app: App
  /** False once the daemon is stopping. */
  isReady(): boolean
  /** Aborted when another configuration has replaced this one, or the daemon is stopping: streams of events end. */
  retired: AbortSignal
  metrics(): Promise<{ type: string; text: string }>
  isTrusted(address: string | undefined): boolean
  /** Issues and judges the daemon's own tokens (`auth.mode: builtin`). */
  authority(): Promise<Authority>
  /** Judges the shop's tokens (`auth.mode: shop`). */
  shopJudge(): Promise<Judge>
  /** The shop that issues tokens for a Host that names no channel; null without a channel. */
  shop: Pick<Channel, 'scheme' | 'host'> | null
  /** Whether a Host is a name of this daemon or of a channel. */
  isKnownHost(host: string): boolean
  stages: StageEndpoints
  onError(message: string, error: unknown): void
  /** Called after each operation of the scope `write`, with the client that performed it. */
  onPerformed(operation: string, actor: string): void
}
