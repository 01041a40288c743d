import type { IgnoredReason } from './counts.ts'

/**
 * User agents that identify themselves as automated: crawlers, link previews, monitors. Bots that pose as browsers are left to the
 * rate limit. Cubot is a phone brand.
 */
const crawler =
  /(?<!\bcu)bot(?:\b|_)|crawl|spider|slurp|mediapartners|facebookexternalhit|embedly|preview|archiver|lighthouse|pingdom|uptime|monitor|scrapy|validator/i

/** Why a request does not come from a visitor looking at the page; null if it may. */
export function detectAutomation(
  field: (name: string) => string | null,
): Extract<IgnoredReason, 'bot' | 'prefetch'> | null {
  const purpose = `${field('sec-purpose') ?? ''} ${field('purpose') ?? ''} ${field('x-purpose') ?? ''} ${field('x-moz') ?? ''}`
  if (/prefetch|prerender|preview/i.test(purpose)) return 'prefetch'
  return crawler.test(field('user-agent') ?? '') ? 'bot' : null
}
