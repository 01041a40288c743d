import { writeFile } from 'node:fs/promises'
import * as z from 'zod/mini'
import { readChannelUrls } from '../config/channel-urls.ts'
import { configTemplate } from '../config/template.ts'
import { PagecacheError } from '../errors.ts'
import { maskUrls } from '../lib/mask.ts'
import { flag, success, succeeded } from './fields.ts'
import { defineOperation } from './operation.ts'

export const initProject = defineOperation({
  name: 'init',
  summary: 'Writes a commented configuration',
  input: z.object({
    origin: z.optional(z.string()),
    url: z.optional(z.string()),
    force: flag,
  }),
  output: z.object({ success, file: z.string(), salesChannel: z.nullable(z.object({ url: z.string(), origin: z.string() })) }),
  async run({ app }, input) {
    const file = app.loaded.places.configFile
    const salesChannel = toChannel(input.origin, input.url)
    try {
      await writeFile(file, configTemplate(salesChannel), { flag: input.force ? 'w' : 'wx' })
    } catch (error) {
      throw toWriteError(error, file)
    }
    return { ...succeeded, file, salesChannel: salesChannel && { ...salesChannel, origin: maskUrls(salesChannel.origin) } }
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

function toWriteError(error: unknown, file: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'EEXIST') {
    return new PagecacheError('WRONG_STATE', `${file} exists already.`, { hint: 'Replace it with --force.' })
  }
  return code === undefined ? error : new PagecacheError('CHECK_FAILED', `${file} cannot be written: ${message}`, { cause: error })
}
