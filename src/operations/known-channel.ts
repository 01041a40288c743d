import type { App } from '../app.ts'
import { unknownChannel } from '../errors.ts'

/** @param id a sales channel's; empty for all. @throws NOT_FOUND for one that is not configured */
export function assertKnownChannel({ config }: App, id: string): void {
  if (id !== '' && !config.salesChannels.some((channel) => channel.id === id))
    throw unknownChannel(id, config.salesChannels)
}
