import type { IgnoredReason } from './counts.ts'

/**
 * Programs that say of themselves that they are no visitor: crawlers, previews of links, monitors. Whoever hides it is not found
 * out here; that is what the rate limit is for. Cubot makes telephones.
 */
const crawler =
  /(?<!\bcu)bot(?:\b|_)|crawl|spider|slurp|mediapartners|facebookexternalhit|embedly|preview|archiver|lighthouse|pingdom|uptime|monitor|scrapy|validator/i

/** Why a request comes from nobody who sees the page; null for what may be a visitor. */
export function automatedBy(field: (name: string) => string | null): Extract<IgnoredReason, 'bot' | 'prefetch'> | null {
  const purpose = `${field('sec-purpose') ?? ''} ${field('purpose') ?? ''} ${field('x-purpose') ?? ''} ${field('x-moz') ?? ''}`
  if (/prefetch|prerender|preview/i.test(purpose)) return 'prefetch'
  return crawler.test(field('user-agent') ?? '') ? 'bot' : null
}
