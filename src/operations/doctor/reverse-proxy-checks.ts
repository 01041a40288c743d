import { lookup } from 'node:dns/promises'
import type { App } from '../../app.ts'
import type { ReverseProxy } from '../../config/schema.ts'
import { basicAuthorization } from '../../lib/basic-authorization.ts'
import { formatDuration } from '../../lib/format-duration.ts'
import { maskUrls } from '../../lib/mask.ts'
import { isIn, networks } from '../../lib/networks.ts'
import { plural } from '../../lib/plural.ts'
import { printable } from '../../lib/printable.ts'
import { ask } from './ask.ts'
import { failed, passed, warned, type Check, type Finding } from './finding.ts'
import { reason } from './network-checks.ts'
import { recordsExist } from './storage-checks.ts'

/** Each reverse proxy is purged of a tag that no page has, and what still waits for it is looked at. */
export const checkReverseProxies: Check = async (app, signal) => {
  const probes = await Promise.all(
    app.config.reverseProxies.map(async (proxy) => [
      await probe(proxy, signal),
      ...(await checkTrust(app, proxy, signal)),
    ]),
  )
  return [...probes.flat(), ...(await checkBacklogs(app))]
}

async function probe({ name, url }: ReverseProxy, signal: AbortSignal): Promise<Finding> {
  const check = `reverse proxy ${name}`
  const where = maskUrls(url)
  try {
    const { status, text } = await ask(toProbe(url), {
      method: 'PURGE',
      headers: { xkey: 'pagecache-doctor', ...authorizationOf(url) },
      signal,
    })
    if (status === 403)
      return failed(
        check,
        `${where} answers 403 to a purge`,
        'Add the address of this machine to the purgers of its VCL.',
      )
    if (status < 200 || status > 299)
      return failed(
        check,
        `${where} answers ${status} to a purge by tag`,
        'Give it a VCL that knows PURGE with xkey: docs/varnish.md.',
      )
    if (/invalidated/i.test(text)) return passed(check, `${where} takes purges`)
    return warned(
      check,
      `${where} answers ${status} to a purge by tag, but not as xkey does: ${printable(text.slice(0, 60))}`,
      'Make sure that its VCL knows PURGE with xkey: docs/varnish.md.',
    )
  } catch (error) {
    return failed(
      check,
      `${where}: ${reason(error)}`,
      'Start it, or correct its url; until then its purges wait and are retried.',
    )
  }
}

/** One that stands before pagecache is shown the tags of its pages if it is trusted; else a purge by tag finds none there, and says nothing of it. */
async function checkTrust(app: App, { name, url }: ReverseProxy, signal: AbortSignal): Promise<Finding[]> {
  const [channel] = app.config.salesChannels
  if (channel === undefined) return []
  const shop = new URL(channel.url)
  try {
    const { cacheName } = await import('../../cache/forward.ts')
    const { headers } = await ask(new URL(shop.pathname, toProbe(url)), {
      method: 'HEAD',
      host: shop.host,
      headers: authorizationOf(url),
      signal,
    })
    if (!`${headers['cache-status']}`.startsWith(`${cacheName};`)) return []
    const { address } = await lookup(new URL(url).hostname.replace(/^\[|\]$/g, ''))
    if (isIn(networks(app.config.trustedProxies), address)) return []
    const message = `It stands before pagecache, which does not trust ${address}: it is shown no tags, and a purge by tag leaves its pages there`
    return [
      warned(
        `tags for ${name}`,
        message,
        `Add ${address}, or the address that it connects from, to trustedProxies; what it has now must be purged once: pagecache vendor:cache:clear.`,
      ),
    ]
  } catch {
    // Whether it answers at all is said already.
    return []
  }
}

function toProbe(url: string): URL {
  const probe = new URL('/', url)
  probe.username = ''
  probe.password = ''
  return probe
}

function authorizationOf(url: string): Record<string, string> {
  const authorization = basicAuthorization(new URL(url))
  return authorization === null ? {} : { authorization }
}

async function checkBacklogs(app: App): Promise<Finding[]> {
  if (app.config.reverseProxies.length === 0 || !(await recordsExist(app))) return []
  try {
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
          `${plural(pending, 'purge')} wait${age}, ${givenUp} were given up${why}`,
          'They are delivered as soon as it answers a worker; pagecache reverse-proxy:stats shows it.',
        )
      })
  } catch (error) {
    return [
      failed(
        'purges of reverse proxies',
        (error as Error).message,
        'The message names what is in the way; mend that, and run pagecache doctor again.',
      ),
    ]
  }
}
