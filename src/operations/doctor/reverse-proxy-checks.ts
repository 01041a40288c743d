import { lookup } from 'node:dns/promises'
import type { App } from '../../app.ts'
import type { ReverseProxy } from '../../config/schema.ts'
import { basicAuthorization } from '../../lib/url.ts'
import { formatDuration } from '../../lib/format.ts'
import { maskUrls, printable } from '../../lib/safe-text.ts'
import { isIn, networks } from '../../lib/networks.ts'
import { attempt, failed, passed, warned, type Check, type Finding } from './finding.ts'
import { describeError } from './network-checks.ts'
import { probe } from './probe.ts'
import { recordsExist } from './storage-checks.ts'

/** Sends each reverse proxy a purge of an unused tag, and looks at its pending purges. */
export const checkReverseProxies: Check = async (app, signal) => {
  const probes = await Promise.all(
    app.config.reverseProxies.map(async (proxy) => [
      await checkPurge(proxy, app.config.purge.retryFor, signal),
      ...(await checkTrust(app, proxy, signal)),
    ]),
  )
  return [...probes.flat(), ...(await checkBacklogs(app))]
}

async function checkPurge({ name, url }: ReverseProxy, retryFor: number, signal: AbortSignal): Promise<Finding> {
  const check = `reverse proxy ${name}`
  const where = maskUrls(url)
  try {
    const { status, text } = await probe(toBaseUrl(url), {
      method: 'PURGE',
      headers: { xkey: 'pagecache-doctor', ...authorizationOf(url) },
      signal,
    })
    if (status === 403)
      return failed(check, `${where} rejects purges with 403`, "Add this machine's address to the purgers in its VCL.")
    if (status < 200 || status > 299)
      return failed(
        check,
        `${where} responds to a purge by tag with ${status}`,
        'Use a VCL that supports PURGE with xkey: docs/varnish.md.',
      )
    if (/invalidated/i.test(text)) return passed(check, `${where} accepts purges`)
    return warned(
      check,
      `${where} responds to a purge by tag with ${status}, but not as xkey does: ${printable(text.slice(0, 60))}`,
      'Make sure that its VCL supports PURGE with xkey: docs/varnish.md.',
    )
  } catch (error) {
    return failed(
      check,
      `Could not reach ${where}: ${describeError(error)}`,
      `Start it, or correct its url. Each purge is retried for ${formatDuration(retryFor / 1000)} (purge.retryFor), and after that only once another is acknowledged, or with pagecache messenger:failed:retry.`,
    )
  }
}

/** A proxy in front of pagecache gets cache tags only if it is trusted. Without them, a purge by tag silently matches no page there. */
async function checkTrust(app: App, { name, url }: ReverseProxy, signal: AbortSignal): Promise<Finding[]> {
  const [channel] = app.config.salesChannels
  if (channel === undefined) return []
  const shop = new URL(channel.url)
  try {
    const { cacheName } = await import('../../cache/forward.ts')
    const { headers } = await probe(new URL(shop.pathname, toBaseUrl(url)), {
      method: 'HEAD',
      host: shop.host,
      headers: authorizationOf(url),
      signal,
    })
    if (!`${headers['cache-status']}`.startsWith(`${cacheName};`)) return []
    const { address } = await lookup(new URL(url).hostname.replace(/^\[|\]$/g, ''))
    if (isIn(networks(app.config.trustedProxies), address)) return []
    const message = `It is in front of pagecache, but ${address} is not trusted: it gets no cache tags, so a purge by tag misses its pages`
    return [
      warned(
        `tags for ${name}`,
        message,
        `Add ${address}, or the address it connects from, to trustedProxies, then run pagecache vendor:cache:clear once.`,
      ),
    ]
  } catch {
    // checkPurge reports an unreachable proxy.
    return []
  }
}

function toBaseUrl(url: string): URL {
  const base = new URL('/', url)
  base.username = ''
  base.password = ''
  return base
}

function authorizationOf(url: string): Record<string, string> {
  const authorization = basicAuthorization(new URL(url))
  return authorization === null ? {} : { authorization }
}

async function checkBacklogs(app: App): Promise<Finding[]> {
  if (app.config.reverseProxies.length === 0 || !(await recordsExist(app))) return []
  return attempt('purges of reverse proxies', async () => {
    const { readProxyStates } = await import('../../purge/deliver/proxy-state.ts')
    const now = Date.now()
    const states = await readProxyStates(
      (await app.records()).db,
      app.config.reverseProxies.map((proxy) => proxy.name),
      now,
    )
    return states
      .filter(({ state }) => state !== 'ok')
      .map(({ name, pending, failed: givenUp, oldestPending, lastError }) => {
        const age =
          oldestPending === null
            ? ''
            : `, the oldest for ${formatDuration(Math.max(0, now - Date.parse(oldestPending)) / 1000)}`
        const why = lastError === null ? '' : `; ${printable(lastError)}`
        return warned(
          `purges of ${name}`,
          `${pending} pending${age}, ${givenUp} failed${why}`,
          'They are delivered once it is reachable; see pagecache reverse-proxy:stats.',
        )
      })
  })
}
