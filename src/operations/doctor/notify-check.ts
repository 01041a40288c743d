import { plural } from '../../lib/format.ts'
import { attempt, passed, warned, type Check } from './finding.ts'
import { recordsExist } from './storage-checks.ts'

/** Finds webhooks whose receivers cannot verify the sender, and notifications that were given up. */
export const checkNotifications: Check = async (app) => {
  const { webhooks, secret } = app.config.notify
  if (webhooks.length === 0) return []
  return attempt('notifications', async () => {
    const findings = []
    const unsigned = webhooks.filter((webhook) => webhook.type === 'json' && (webhook.secret ?? secret) === null)
    if (unsigned.length > 0)
      findings.push(
        warned(
          'notifications',
          `Not signed: ${unsigned.map(({ name }) => name).join(', ')}. Their receivers cannot tell them from forged ones.`,
          'Set notify.secret, or PAGECACHE_NOTIFY_SECRET.',
        ),
      )
    const failed = (await recordsExist(app)) ? await countFailed(app) : 0
    if (failed > 0)
      findings.push(
        warned(
          'notifications',
          `${plural(failed, 'notification')} could not be delivered`,
          'pagecache messenger:failed:show gives the reasons; pagecache notify:test tries the webhooks.',
        ),
      )
    return findings.length > 0 ? findings : [passed('notifications', plural(webhooks.length, 'webhook'))]
  })
}

async function countFailed(app: Parameters<Check>[0]): Promise<number> {
  const { notifyType } = await import('../../notify/notification.ts')
  const { total } = await (await app.queue()).listFailed({ limit: 1, offset: 0, type: notifyType })
  return total
}
