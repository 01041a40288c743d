import { PagecacheError } from '../errors.ts'
import { showConfig } from '../operations/config.ts'
import type { Performer } from '../operations/operation.ts'

/** A sales channel of the configuration, as its keys name it. */
export interface Channel {
  id: string
  /** Empty if the configuration has none. */
  name: string
  url: string
}

/** Reads the sales channels of the configuration, here or on a daemon. */
export async function readChannels(performer: Performer): Promise<Channel[]> {
  const { values } = await performer.perform(showConfig, {})
  const read = (key: string) => String(values.find((each) => each.key === key)?.value ?? '')
  return values
    .filter(({ key }) => /^salesChannels\[\d+\]\.id$/.test(key))
    .map(({ key, value }) => ({
      id: String(value),
      name: read(key.replace(/id$/, 'name')),
      url: read(key.replace(/id$/, 'url')),
    }))
}

/** The names of sales channels by their ids. If they cannot be read, says why and returns none: ids are readable too. */
export async function toChannelNames(
  reading: Promise<readonly Channel[]>,
  tell: (message: string) => void,
): Promise<ReadonlyMap<string, string>> {
  try {
    return new Map((await reading).map(({ id, name }) => [id, name]))
  } catch (error) {
    if (!(error instanceof PagecacheError) || error.code === 'INTERRUPTED') throw error
    tell(`Warning: Could not read the names of the sales channels: ${error.message}`)
    return new Map()
  }
}
