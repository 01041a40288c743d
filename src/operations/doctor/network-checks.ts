import { createServer } from 'node:net'
import type { SalesChannel } from '../../config/schema.ts'
import { maskUrls } from '../../lib/mask.ts'
import { ask } from './ask.ts'
import { failed, passed, warned, type Check, type Finding } from './finding.ts'

export const checkChannels: Check = async (app, signal) => {
  const findings = app.config.salesChannels.map((channel) => checkChannel(channel, signal))
  return (await Promise.all(findings)).flat()
}

async function checkChannel(channel: SalesChannel, signal: AbortSignal): Promise<Finding[]> {
  const name = `origin of ${channel.url}`
  const origin = maskUrls(channel.origin)
  try {
    const { status } = await askOrigin(channel, `${new URL(channel.url).pathname.replace(/\/$/, '')}/`, signal)
    const answered = `${origin} answers ${status}`
    const health = status < 500 ? passed(name, answered) : warned(name, answered, "Look into the shop's log.")
    return [health, await checkSitemap(channel, signal)]
  } catch (error) {
    return [failed(name, `${origin}: ${reason(error)}`, 'Start the shop, or correct the origin of this sales channel.')]
  }
}

/** The shop is asked as the proxy will ask it: at its origin, by its public name. */
function askOrigin(channel: SalesChannel, path: string, signal: AbortSignal) {
  return ask(new URL(path, channel.origin), { host: new URL(channel.url).host, signal })
}

async function checkSitemap(channel: SalesChannel, signal: AbortSignal): Promise<Finding> {
  const name = `sitemap of ${channel.url}`
  try {
    const missing = await findMissingSitemap(channel, signal)
    if (missing === null) return passed(name, 'found')
    return warned(
      name,
      `${missing.path} answers ${missing.status}.`,
      'Generate it in the shop, or name it in sitemaps; without one a warmup finds no pages.',
    )
  } catch (error) {
    return warned(name, reason(error), 'Name the sitemap of this sales channel in sitemaps.')
  }
}

/** The first sitemap that does not answer 200, null where all do. Other hosts are not asked. */
async function findMissingSitemap(channel: SalesChannel, signal: AbortSignal) {
  const prefix = new URL(channel.url).pathname.replace(/\/$/, '')
  for (const path of channel.sitemaps.length > 0 ? channel.sitemaps : await sitemapsOfRobots(channel, signal)) {
    const url = path.startsWith('/') ? new URL(prefix + path, channel.url) : new URL(path)
    if (url.host !== new URL(channel.url).host) continue
    const { status } = await askOrigin(channel, url.pathname + url.search, signal)
    if (status !== 200) return { path: maskUrls(path), status }
  }
  return null
}

async function sitemapsOfRobots(channel: SalesChannel, signal: AbortSignal): Promise<string[]> {
  const { status, text } = await askOrigin(channel, '/robots.txt', signal)
  const lines = status === 200 ? [...text.matchAll(/^[ \t]*sitemap[ \t]*:[ \t]*(\S+)/gim)] : []
  const named = lines.map((line) => line[1] ?? '').filter((url) => URL.canParse(url))
  return named.length > 0 ? named : ['/sitemap.xml']
}

export const checkPort: Check = async (app, signal) => {
  const { host, port } = app.config.server
  const where = `${host}:${port}`
  if (port === 0) return [passed('port', 'any that is free')]
  // Asked first: who may not listen there may well see that the daemon, which has more rights, does.
  const daemon = await ask(new URL(`http://${reachable(host)}:${port}/healthz`), { signal }).catch(() => null)
  if (daemon?.status === 200) return [passed('port', `a daemon answers at ${where}`)]
  const fault = await tryToListen(host, port)
  if (fault === null) return [passed('port', `${where} is free`)]
  if (fault === 'EACCES')
    return [
      warned(
        'port',
        `This user may not listen at ${where}.`,
        'The daemon needs a right to it: docs/deploy.md has a systemd unit that gives it.',
      ),
    ]
  if (fault !== 'EADDRINUSE')
    return [failed('port', `${where}: ${fault}`, 'Choose another server.host or server.port.')]
  return [failed('port', `Something else listens at ${where}.`, 'Stop it, or choose another server.port.')]
}

/** Null where the address could be listened on, else the system's code. */
function tryToListen(host: string, port: number): Promise<string | null> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<string | null>()
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  return promise
}

/** Who listens everywhere is reached at home. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

/** What went wrong, in words. */
export function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED') return 'nobody listens there'
  return code === 'ENOTFOUND' ? 'there is no such host' : message || code || String(error)
}
