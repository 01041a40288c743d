import * as z from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'
import { count, described, text } from './fields.ts'
import { defineOperation } from './operation.ts'

export const testNotifications = defineOperation({
  name: 'notify.test',
  summary: 'Sends a test notification to the configured webhooks',
  input: z.object({ name: described(z.optional(text()), 'name of one webhook; default: all of them') }),
  output: z.object({
    success: described(z.boolean(), 'false if a webhook did not accept it'),
    webhooks: z.array(
      z.object({
        name: z.string(),
        accepted: z.boolean(),
        status: described(z.nullable(count), 'null: there was no answer'),
        ms: described(z.number(), 'milliseconds'),
        error: z.nullable(z.string()),
      }),
    ),
  }),
  http: { method: 'POST', path: '/notify/test' },
  async run({ app, signal }, { name }) {
    const [{ webhooksOf }, { sendNotification }, { toNotification }] = await Promise.all([
      import('../notify/notification.ts'),
      import('../notify/send.ts'),
      import('../notify/problems.ts'),
    ])
    const all = webhooksOf(app.config.notify)
    const chosen = name === undefined ? all : all.filter((webhook) => webhook.name === name)
    if (chosen.length === 0) throw noWebhook(name, all)
    const text = 'Notifications of pagecache arrive here.'
    const content = { event: 'test', state: 'test', subject: '', title: 'Test notification', text } as const
    const webhooks = await Promise.all(
      chosen.map(async (webhook) => {
        const notification = toNotification(content, app.loaded.environment, app.now())
        const result = await sendNotification(webhook, notification, { now: app.now(), signal })
        const { ok: accepted, status, ms } = result
        return { name: webhook.name, accepted, status, ms, error: result.ok ? null : result.error }
      }),
    )
    return { success: webhooks.every(({ accepted }) => accepted), webhooks }
  },
})

function noWebhook(name: string | undefined, webhooks: readonly { name: string }[]): PagecacheError {
  if (name === undefined || webhooks.length === 0)
    return new PagecacheError('WRONG_STATE', 'No webhook is configured.', {
      hint: 'Add one to notify.webhooks; docs/notifications.md has examples.',
    })
  const names = webhooks.map((each) => each.name)
  const guess = closest(name, names)
  return new PagecacheError(
    'NOT_FOUND',
    `There is no webhook ${JSON.stringify(name)}. Configured: ${names.join(', ')}.`,
    {
      ...(guess !== null && { hint: `Did you mean ${guess}?` }),
    },
  )
}
