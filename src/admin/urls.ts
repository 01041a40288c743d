export interface Channel {
  id: string
  name: string
  /** Scheme, host and path prefix. */
  url: string
}

/** @throws Error for what is neither a URL nor a path, such as a word to search for */
export function assertNamesPage(text: string): void {
  if (!/^(?:https?:\/)?\//i.test(text))
    throw new Error(`${text} is no URL and no path: begin with http://, https:// or /.`)
}

/** The URLs that a text names: itself, or for a path its URL in each channel. A path may begin with the path of the channel's URL. */
export function toUrls(given: string, channels: readonly Channel[]): string[] {
  // Lists show letters outside ASCII, which are escaped in a URL.
  const text = given.toWellFormed().replaceAll(/[^\u0000-\u007f]+/g, encodeURIComponent)
  if (!text.startsWith('/') || channels.length === 0) return [text]
  return [...new Set(channels.map(({ url }) => absolute(text, url)))]
}

function absolute(path: string, channelUrl: string): string {
  const { origin, pathname } = new URL(channelUrl)
  const prefix = pathname.replace(/\/$/, '')
  const isBelow = path.startsWith(prefix) && /^(?:[/?]|$)/.test(path.slice(prefix.length))
  return `${origin}${isBelow ? path : prefix + path}`
}
