export interface Channel {
  id: string
  name: string
  /** Scheme, host and path prefix. */
  url: string
}

/** The URLs that a text names: itself, or for a path its URL in each channel. A path may begin with the path of the channel's URL. */
export function toUrls(text: string, channels: readonly Channel[]): string[] {
  if (!text.startsWith('/') || channels.length === 0) return [text]
  return [...new Set(channels.map(({ url }) => absolute(text, url)))]
}

function absolute(path: string, channelUrl: string): string {
  const { origin, pathname } = new URL(channelUrl)
  const prefix = pathname.replace(/\/$/, '')
  const isBelow = path.startsWith(prefix) && /^(?:[/?]|$)/.test(path.slice(prefix.length))
  return `${origin}${isBelow ? path : prefix + path}`
}
