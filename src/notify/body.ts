import type { Notification, Webhook } from './notification.ts'

/** Characters of a text that is shown. */
const longestText = 2000

const icons = { problem: ':red_circle:', recovered: ':large_green_circle:', test: ':information_source:' } as const

/** The body of a request, in the form that the receiver expects. */
export function bodyOf({ type }: Pick<Webhook, 'type'>, notification: Notification): string {
  const shown = { ...notification, text: notification.text.slice(0, longestText) }
  return JSON.stringify(type === 'slack' ? toSlack(shown) : shown)
}

/** A message for an incoming webhook of Slack, Mattermost or Rocket.Chat. */
function toSlack({ state, title, text, environment }: Notification): { text: string } {
  return { text: `${icons[state]} *${escape(title)}* (${escape(environment)})\n${escape(text)}` }
}

/** Escapes what Slack would read as a link, a mention or a channel. */
function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
