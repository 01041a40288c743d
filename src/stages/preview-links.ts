import { PagecacheError } from '../errors.ts'
import type { SalesChannel } from './sales-channels.ts'

/** Precedes the token in the fragment of a link. Browsers send no fragment, so the page comes from the cache and no log has the token. */
const fragment = '#vendor-stage-preview='

/**
 * The links that show a stage on a page of each channel.
 *
 * @param path of the page, below the channel's URL
 * @throws INVALID_INPUT for a path that leaves the channel; NOT_FOUND without a channel
 */
export function previewLinks(channels: readonly SalesChannel[], path: string, token: string) {
  if (channels.length === 0)
    throw new PagecacheError('NOT_FOUND', 'There is no sales channel whose pages could show the stage.', {
      hint: 'Add one under salesChannels in pagecache.yaml.',
    })
  if (!/^\/(?!\/)[^\s\\#\u0000-\u001f\u007f]*$/.test(path))
    throw new PagecacheError('INVALID_INPUT', 'path: expected the path of a page, which begins with /')
  return channels.map(({ id, name, url }) => ({
    salesChannelId: id,
    name,
    url: `${new URL(url.replace(/\/$/, '') + path).href}${fragment}${token}`,
  }))
}
