import { writeFile } from 'node:fs/promises'
import * as z from 'zod/mini'
import { readChannelUrls } from '../config/channel-urls.ts'
import { configTemplate, defaultPort } from '../config/template.ts'
import { PagecacheError } from '../errors.ts'
import { maskUrls } from '../lib/mask.ts'
import { portOf } from '../lib/port-of.ts'
import { described, flag, success, succeeded } from './fields.ts'
import { defineOperation } from './operation.ts'

export const initProject = defineOperation({
  name: 'init',
  summary: 'Writes a commented configuration',
  input: z.object({
    origin: z.optional(z.string()),
    url: z.optional(z.string()),
    force: flag,
  }),
  output: z.object({
    success,
    file: z.string(),
    salesChannel: z.nullable(z.object({ url: z.string(), origin: z.string() })),
    port: described(z.nullable(z.int()), 'server.port as written; null where the default stands'),
    portNote: described(z.nullable(z.string()), 'why that port; null without a sales channel'),
  }),
  async run({ app }, input) {
    const file = app.loaded.places.configFile
    const salesChannel = toChannel(input.origin, input.url)
    const { port, portNote } =
      salesChannel === null
        ? { port: null, portNote: null }
        : choosePort(new URL(salesChannel.url), new URL(salesChannel.origin))
    try {
      await writeFile(file, configTemplate(salesChannel, { port }), { flag: input.force ? 'w' : 'wx' })
    } catch (error) {
      throw toWriteError(error, file)
    }
    return {
      ...succeeded,
      file,
      salesChannel: salesChannel && { ...salesChannel, origin: maskUrls(salesChannel.origin) },
      port,
      portNote,
    }
  },
})

/** Both URLs as the configuration will read them; null where none was named. Throws INVALID_INPUT. */
function toChannel(origin: string | undefined, url: string | undefined) {
  if (origin === undefined && url === undefined) return null
  if (origin === undefined || url === undefined) {
    throw new PagecacheError('INVALID_INPUT', 'A sales channel needs both its public URL and its origin.', {
      hint: 'Give --url (what visitors type) and --origin (where the shop answers), or neither.',
    })
  }
  return readChannelUrls({ origin, url })
}

/** Lower ports need special rights on most systems. */
const firstFreePort = 1024

/** The port of `server.port` for a public URL: its own where visitors may speak to the daemon directly, else the default, and why. */
function choosePort(url: URL, origin: URL): { port: number | null; portNote: string } {
  const port = portOf(url)
  const forward = (why: string) => ({
    port: null,
    portNote: `${why}: have a web server forward port ${port} to pagecache, which listens at port ${defaultPort}.`,
  })
  if (url.protocol === 'https:') return forward('TLS ends before pagecache')
  if (port === 0)
    throw new PagecacheError('INVALID_INPUT', 'url: nobody can visit port 0', {
      hint: 'Name the port that visitors use.',
    })
  if (url.port === '' || port < firstFreePort)
    return forward(`Port ${port} belongs to a web server, or needs special rights`)
  if (port === portOf(origin) && isSameMachine(url, origin))
    return forward('The shop itself listens at the port of its URL')
  return { port, portNote: `server.port is ${port}, the port of the URL.` }
}

/** A public name may well lead to this machine, where a shop on the loopback interface has taken the port. */
function isSameMachine(url: URL, origin: URL): boolean {
  return url.hostname === origin.hostname || /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(origin.hostname)
}

function toWriteError(error: unknown, file: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EEXIST') {
    return new PagecacheError('WRONG_STATE', `${file} exists already.`, { hint: 'Replace it with --force.' })
  }
  return code === undefined
    ? error
    : new PagecacheError('CHECK_FAILED', `${file} cannot be written: ${message}`, { cause: error })
}
