import { writeFile } from 'node:fs/promises'
import * as z from 'zod/mini'
import { lifetimeAdvice } from '../cache/lifetime-advice.ts'
import { readChannelUrls } from '../config/channel-urls.ts'
import { shops, type Shop } from '../config/presets.ts'
import { configTemplate, defaultPort } from '../config/template.ts'
import { findDaemon, type RunningDaemon } from '../config/running-daemon.ts'
import { PagecacheError } from '../errors.ts'
import { maskUrls } from '../lib/safe-text.ts'
import { parseDuration, writeDuration } from '../lib/quantity.ts'
import { portOf } from '../lib/url.ts'
import { findShop, type FoundShop } from './doctor/shop.ts'
import { described, flag, success, succeeded } from './fields.ts'
import { defineOperation } from './operation.ts'

/** The JSON Schema of this installation: it fits this version and needs no network. The bundle lies as deep as the source. */
const schemaUrl = new URL('../../docs/pagecache.schema.json', import.meta.url).href

export const initProject = defineOperation({
  name: 'init',
  summary: 'Writes a commented configuration file',
  input: z.object({
    origin: z.optional(z.string()),
    url: z.optional(z.string()),
    shop: z.optional(z.enum(shops)),
    ttl: described(z.optional(z.string()), 'a duration; default: that of the running daemon'),
    force: flag,
  }),
  output: z.object({
    success,
    file: z.string(),
    salesChannel: z.nullable(z.object({ url: z.string(), origin: z.string() })),
    shop: described(z.enum(shops), 'kind of shop whose defaults apply'),
    shopNote: described(
      z.nullable(z.string()),
      'how it was found; null if the input named it or there is no sales channel',
    ),
    port: described(z.nullable(z.int()), 'server.port in the file; null: default'),
    portNote: described(z.nullable(z.string()), 'reason for the port; null without a sales channel'),
    ttl: described(z.nullable(z.string()), 'cache.defaultTtl in the file; null: default'),
    ttlNote: described(z.nullable(z.string()), 'what to do if the shop names no lifetimes for its pages'),
    next: described(z.string(), 'what to do next'),
  }),
  async run({ app, signal }, input) {
    const file = app.loaded.places.configFile
    const salesChannel = toChannel(input.origin, input.url)
    const { port, portNote } =
      salesChannel === null
        ? { port: null, portNote: null }
        : choosePort(new URL(salesChannel.url), new URL(salesChannel.origin))
    const daemon = findDaemon(app.loaded.places.dataDir)
    const ttl = chooseTtl(input.ttl, daemon)
    const found = salesChannel && (await findShop(salesChannel, signal))
    const { shop, shopNote } = chooseShop(input.shop, salesChannel !== null, found)
    const lacksTtl = ttl === null && found?.lacksLifetime === true
    try {
      await writeFile(file, configTemplate(salesChannel, { port, shop, ttl, schema: schemaUrl }), {
        flag: input.force ? 'w' : 'wx',
      })
    } catch (error) {
      throw toWriteError(error, file)
    }
    return {
      ...succeeded,
      file,
      salesChannel: salesChannel && { ...salesChannel, origin: maskUrls(salesChannel.origin) },
      shop,
      shopNote,
      port,
      portNote,
      ttl,
      ttlNote: lacksTtl ? `${lifetimeAdvice.message} If its pages may be cached, set cache.defaultTtl.` : null,
      next: nextStep(salesChannel !== null, daemon),
    }
  },
})

/** The lifetime to write: as given, or that with which the daemon was started. @throws INVALID_INPUT */
function chooseTtl(given: string | undefined, daemon: RunningDaemon | null): string | null {
  const value: unknown = given ?? daemon?.flags.find(({ path }) => path.join('.') === 'cache.defaultTtl')?.value
  if (value === undefined) return null
  const ttl = typeof value === 'number' ? value : parseDuration(value)
  if (ttl !== undefined) return writeDuration(ttl)
  throw new PagecacheError('INVALID_INPUT', `ttl: expected a duration such as 10m, not ${JSON.stringify(value)}`)
}

function chooseShop(
  wanted: Shop | undefined,
  hasChannel: boolean,
  found: FoundShop | null,
): { shop: Shop; shopNote: string | null } {
  if (wanted !== undefined || !hasChannel) return { shop: wanted ?? 'plain', shopNote: null }
  if (found?.kind === 'shopware')
    return { shop: found.kind, shopNote: 'The shop answers like Shopware, so shop is shopware.' }
  return found?.kind === 'plain'
    ? { shop: found.kind, shopNote: 'The shop does not answer like Shopware. If it is, set shop: shopware.' }
    : { shop: 'plain', shopNote: 'The shop does not answer. If it is Shopware, set shop: shopware.' }
}

function nextStep(hasChannel: boolean, daemon: RunningDaemon | null): string {
  if (!hasChannel) return 'Next: add your shop to it, then run pagecache doctor.'
  if (daemon === null) return 'Next: run pagecache doctor, then pagecache serve.'
  const { pid } = daemon.process
  return daemon.shop === null
    ? `Next: the daemon (process ${pid}) still runs with the previous configuration. Run pagecache config:reload.`
    : `Next: the daemon (process ${pid}) still serves ${daemon.shop.url} for serve --origin. Stop it, then run pagecache serve.`
}

/** Validates both URLs; null if none is given. @throws INVALID_INPUT */
function toChannel(origin: string | undefined, url: string | undefined) {
  if (origin === undefined && url === undefined) return null
  if (origin === undefined || url === undefined) {
    throw new PagecacheError('INVALID_INPUT', 'A sales channel needs a public URL and an origin.', {
      hint: 'Pass both --url and --origin, or neither.',
    })
  }
  return readChannelUrls({ origin, url })
}

/** Lower ports need special rights on most systems. */
const firstUnprivilegedPort = 1024

/** Chooses `server.port`: the port of the public URL if the daemon can serve it directly, otherwise the default. */
function choosePort(url: URL, origin: URL): { port: number | null; portNote: string } {
  const port = portOf(url)
  const forward = (why: string) => ({
    port: null,
    portNote: `${why}. Have a web server forward port ${port} to pagecache on port ${defaultPort}.`,
  })
  if (url.protocol === 'https:') return forward('pagecache does not terminate TLS')
  if (port === 0)
    throw new PagecacheError('INVALID_INPUT', 'url: port 0 cannot be visited', {
      hint: 'Name the port that visitors use.',
    })
  if (url.port === '' || port < firstUnprivilegedPort)
    return forward(`Port ${port} needs a web server or special permissions`)
  if (port === portOf(origin) && isSameMachine(url, origin))
    return forward('The shop itself listens on the port of its URL')
  return { port, portNote: `server.port is ${port}, the port of the URL.` }
}

/** A shop on loopback occupies the port on this machine, to which the public name may resolve. */
function isSameMachine(url: URL, origin: URL): boolean {
  return url.hostname === origin.hostname || /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(origin.hostname)
}

function toWriteError(error: unknown, file: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EEXIST') {
    return new PagecacheError('WRONG_STATE', `${file} already exists.`, { hint: 'Overwrite it with --force.' })
  }
  return code === undefined
    ? error
    : new PagecacheError('CHECK_FAILED', `Could not write ${file}: ${message}`, { cause: error })
}
