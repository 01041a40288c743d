import { createHmac } from 'node:crypto'

/** Prefix of secrets that are written in base64. */
const encodedPrefix = 'whsec_'

/**
 * The fields of a webhook request by the Standard Webhooks specification (https://www.standardwebhooks.com): its id, which stays the same when it is
 * repeated, the time of this attempt, and a signature over both and the body. Receivers reject old times and repeated ids.
 *
 * @param secret null: the request is not signed
 * @param now milliseconds since the epoch
 */
export function webhookFields(
  id: string,
  body: string,
  secret: string | null,
  now: number,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(now / 1000))
  const fields = { 'webhook-id': id, 'webhook-timestamp': timestamp }
  if (secret === null) return fields
  const key = secret.startsWith(encodedPrefix) ? Buffer.from(secret.slice(encodedPrefix.length), 'base64') : secret
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { ...fields, 'webhook-signature': `v1,${signature}` }
}
