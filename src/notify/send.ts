import { TimeLimit } from '../lib/time-limit.ts'
import { basicAuthorization } from '../lib/url.ts'
import { bodyOf } from './body.ts'
import type { Notification, Webhook } from './notification.ts'
import { webhookFields } from './sign.ts'

/** The result of one request. `error` never contains the URL, which may be a secret. `retry`: whether another attempt may succeed. */
export type SendResult =
  | { ok: true; status: number; ms: number }
  | { ok: false; status: number | null; ms: number; error: string; retry: boolean }

/** Milliseconds from the start of a request to its response. */
const timeout = 10_000
/** Statuses with which a receiver asks to repeat the request. */
const retried = new Set([408, 425, 429])

/**
 * Sends a notification once. Redirects are not followed: they would send the signed body to an address that the operator has not configured.
 *
 * @param now milliseconds since the epoch
 */
export async function sendNotification(
  webhook: Webhook,
  notification: Notification,
  { now, signal }: { now: number; signal: AbortSignal },
): Promise<SendResult> {
  const { Client } = await import('undici')
  const url = new URL(webhook.url)
  const authorization = basicAuthorization(url)
  const client = new Client(url.origin, { allowH2: false, connect: { timeout }, headersTimeout: timeout })
  const limit = new TimeLimit(timeout, signal)
  const started = performance.now()
  const elapsed = () => Math.round(performance.now() - started)
  try {
    const body = bodyOf(webhook, notification)
    const { statusCode: status, body: response } = await client.request({
      method: 'POST',
      path: url.pathname + url.search,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'pagecache',
        ...webhookFields(notification.id, body, webhook.secret, now),
        ...(authorization !== null && { authorization }),
      },
      body,
      signal: limit.signal,
    })
    response.on('error', () => {}).destroy()
    return status >= 200 && status < 300 ? { ok: true, status, ms: elapsed() } : refused(status, elapsed())
  } catch (error) {
    const reason = limit.isLate ? `no answer within ${timeout / 1000} s` : reasonOf(error)
    return { ok: false, status: null, ms: elapsed(), error: reason, retry: true }
  } finally {
    limit.end()
    await client.destroy()
  }
}

function refused(status: number, ms: number): SendResult {
  const isRedirect = status >= 300 && status < 400
  const error = isRedirect ? `it answered ${status}; redirects are not followed` : `it answered ${status}`
  return { ok: false, status, ms, error, retry: status >= 500 || retried.has(status) }
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection broke off',
  UND_ERR_SOCKET: 'the connection broke off',
  UND_ERR_CONNECT_TIMEOUT: 'no connection within 10 s',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'unknown host',
}

function reasonOf(error: unknown): string {
  const { code = '', name } = error as NodeJS.ErrnoException
  // The message may contain the URL.
  return reasons[code] ?? (code || name)
}
