import { createServer } from 'node:net'
import type { SalesChannel } from '../../config/schema.ts'
import { lacksLifetime, lifetimeAdvice } from '../../cache/lifetime-advice.ts'
import { findDaemon } from '../../config/running-daemon.ts'
import { maskUrls } from '../../lib/safe-text.ts'
import type { Shop } from '../../config/presets.ts'
import { probe } from './probe.ts'
import { shopOf, toPairs } from './shop.ts'
import { failed, passed, warned, type Check, type Finding } from './finding.ts'

export const checkChannels: Check = async (app, signal) => {
  const defaultTtl = app.config.cache.defaultTtl / 1000
  const { salesChannels, shop } = app.config
  const findings = salesChannels.map((channel) => checkChannel(channel, { defaultTtl, shop }, signal))
  return (await Promise.all(findings)).flat()
}

async function checkChannel(
  channel: SalesChannel,
  { defaultTtl, shop }: { defaultTtl: number; shop: Shop },
  signal: AbortSignal,
): Promise<Finding[]> {
  const name = `origin of ${channel.url}`
  const origin = maskUrls(channel.origin)
  try {
    const { status, headers } = await probeOrigin(
      channel,
      `${new URL(channel.url).pathname.replace(/\/$/, '')}/`,
      signal,
    )
    const message = `${origin} responds with ${status}`
    const health = status < 500 ? passed(name, message) : warned(name, message, "Check the shop's log.")
    const lifetime = lacksLifetime(status, toPairs(headers), { defaultTtl, now: Date.now() })
      ? [warned(`lifetime of ${channel.url}`, lifetimeAdvice.message, lifetimeAdvice.remedy)]
      : []
    const kind =
      shop === 'plain' && shopOf(headers) === 'shopware'
        ? [
            warned(
              `shop of ${channel.url}`,
              'It is a Shopware shop, but the settings are those of a plain one.',
              'Set shop: shopware.',
            ),
          ]
        : []
    return [health, ...kind, ...lifetime, await checkSitemap(channel, signal)]
  } catch (error) {
    return [
      failed(
        name,
        `Could not reach ${origin}: ${describeError(error)}`,
        'Start the shop, or correct the origin of this sales channel.',
      ),
    ]
  }
}

/** Sends a request as the cache does: to the origin, with the public Host. */
function probeOrigin(channel: SalesChannel, path: string, signal: AbortSignal) {
  return probe(new URL(path, channel.origin), { host: new URL(channel.url).host, signal })
}

async function checkSitemap(channel: SalesChannel, signal: AbortSignal): Promise<Finding> {
  const name = `sitemap of ${channel.url}`
  try {
    const { missing, urls } = await readSitemaps(channel, signal)
    if (missing !== null)
      return warned(
        name,
        `${missing.path} responds with ${missing.status}.`,
        'Generate it in the shop, or set sitemaps; without one a warmup finds no pages.',
      )
    const others = otherOrigins(urls, channel)
    if (others === null) return passed(name, 'found')
    return warned(
      name,
      `It lists no URL below ${channel.url}, but URLs of ${others.join(', ')}: a warmup would fetch nothing.`,
      'Set the url of this sales channel (salesChannels[].url) to the one that the sitemap uses, or correct the sitemap in the shop.',
    )
  } catch (error) {
    return warned(name, describeError(error), 'Set the sitemaps of this sales channel.')
  }
}

/** Reads the URLs of the sitemaps, up to the first that does not respond with 200. Sitemaps of other origins are not requested, by a warmup neither. */
async function readSitemaps(channel: SalesChannel, signal: AbortSignal) {
  const prefix = new URL(channel.url).pathname.replace(/\/$/, '')
  const texts: string[] = []
  const elsewhere: string[] = []
  for (const path of channel.sitemaps.length > 0 ? channel.sitemaps : await sitemapsOfRobots(channel, signal)) {
    const url = path.startsWith('/') ? new URL(prefix + path, channel.url) : new URL(path)
    if (url.origin !== new URL(channel.url).origin) {
      elsewhere.push(url.href)
      continue
    }
    const { status, text } = await probeOrigin(channel, url.pathname + url.search, signal)
    if (status !== 200) return { missing: { path: maskUrls(path), status }, urls: [] }
    texts.push(text)
  }
  return { missing: null, urls: texts.length === 0 ? elsewhere : texts.flatMap(locationsIn) }
}

function locationsIn(sitemap: string): string[] {
  return [...sitemap.matchAll(/<loc>\s*(?:<!\[CDATA\[)?\s*([^\s<\]]+)/g)].map(([, loc = '']) => loc)
}

/** The origins of URLs, if none of them is below the channel's URL; null otherwise, and without URLs. */
function otherOrigins(urls: readonly string[], channel: SalesChannel): string[] | null {
  const own = new URL(channel.url)
  const path = own.pathname.replace(/\/$/, '')
  const listed = urls.filter((url) => URL.canParse(url)).map((url) => new URL(url))
  if (listed.some(({ origin, pathname }) => origin === own.origin && `${pathname}/`.startsWith(`${path}/`))) return null
  return listed.length === 0 ? null : [...new Set(listed.map(({ origin }) => origin))].slice(0, 3)
}

async function sitemapsOfRobots(channel: SalesChannel, signal: AbortSignal): Promise<string[]> {
  const { status, text } = await probeOrigin(channel, '/robots.txt', signal)
  const lines = status === 200 ? [...text.matchAll(/^[ \t]*sitemap[ \t]*:[ \t]*(\S+)/gim)] : []
  const sitemaps = lines.map((line) => line[1] ?? '').filter((url) => URL.canParse(url))
  return sitemaps.length > 0 ? sitemaps : ['/sitemap.xml']
}

export const checkPort: Check = async (app, signal) => {
  const { host, port, proxyProtocol } = app.config.server
  const where = `${host}:${port}`
  if (port === 0) return [passed('port', 'chosen at start')]
  const isOurs = findDaemon(app.loaded.places.dataDir)?.port === port
  // It would close a connection without a PROXY header.
  if (proxyProtocol && isOurs) return [passed('port', `the daemon is running at ${where}`)]
  // Checked first, because this user may lack the permission to listen that the daemon has.
  const fault = await probe(new URL(`http://${reachable(host)}:${port}/healthz`), { signal }).then(
    ({ status }) => (status === 200 ? null : `it responds with ${status}`),
    describeError,
  )
  if (fault === null) {
    if (isOurs) return [passed('port', `the daemon is running at ${where}`)]
    const remedy = 'Stop it, or choose another server.port.'
    return [failed('port', `A daemon of another project or environment is running at ${where}.`, remedy)]
  }
  if (isOurs)
    return [
      failed(
        'port',
        `The daemon of this project is running but not healthy at ${where}: ${fault}`,
        'Check its log and the load of this machine. Restart it if that does not help.',
      ),
    ]
  const code = await listenError(host, port)
  if (code === null) return [passed('port', `${where} is free`)]
  if (code === 'EACCES')
    return [
      warned(
        'port',
        `This user is not permitted to listen on ${where}.`,
        'The daemon needs that permission; the systemd unit in docs/deploy.md grants it.',
      ),
    ]
  if (code !== 'EADDRINUSE')
    return [failed('port', `Could not listen on ${where}: ${code}`, 'Choose another server.host or server.port.')]
  return [failed('port', `Another program listens on ${where}.`, 'Stop it, or choose another server.port.')]
}

/** Tries to listen. Returns the system's error code, or null on success. */
function listenError(host: string, port: number): Promise<string | null> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<string | null>()
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  return promise
}

/** An address to connect to; a wildcard address is reached on loopback. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

/** Describes a network error. */
export function describeError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED') return 'connection refused'
  return code === 'ENOTFOUND' ? 'unknown host' : message || code || String(error)
}
