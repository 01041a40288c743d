import type { Config } from '../config/schema.ts'
import type { NewMessage } from '../queue/queue.ts'

/** What operators can be notified of. */
export type NotifyEvent = Config['notify']['webhooks'][number]['events'][number]

/** A notification as a webhook receives it. Contains no secrets and nothing about visitors. */
export interface Notification {
  id: string
  event: NotifyEvent | 'test'
  /** `recovered`: a problem that was notified of has passed. */
  state: 'problem' | 'recovered' | 'test'
  /** ISO 8601. */
  at: string
  environment: string
  /** What it is about: a proxy, a sales channel, a machine. Empty where there is only one. */
  subject: string
  title: string
  text: string
}

/** A configured receiver. Its URL may contain a secret; a `secret` signs the body. */
export type Webhook = Config['notify']['webhooks'][number]

/** The configured receivers. Those without a secret of their own sign with the common one. */
export function webhooksOf({ webhooks, secret }: Config['notify']): Webhook[] {
  return webhooks.map((webhook) => ({ ...webhook, secret: webhook.secret ?? secret }))
}

export const notifyType = 'notify.send'

export interface NotifyPayload {
  webhook: string
  notification: Notification
}

/** A message for each webhook that wants the event. It names the webhook only: its URL and secret stay in the configuration. */
export function messagesFor(webhooks: readonly Webhook[], notification: Notification): NewMessage[] {
  return webhooks
    .filter(({ events }) => notification.event === 'test' || events.includes(notification.event))
    .map(({ name }) => ({
      transport: 'async',
      type: notifyType,
      payload: { webhook: name, notification } satisfies NotifyPayload,
    }))
}
