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
