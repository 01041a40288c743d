import { useEffect, useState } from 'preact/hooks'
import type { ConfigValues } from './answers.ts'
import { useApi } from './api-context.ts'

export interface Channel {
  id: string
  name: string
  /** Scheme, host and path prefix. */
  url: string
}

/** The sales channels of the configuration; an empty list until they are known. */
export function useChannels(): readonly Channel[] {
  const api = useApi()
  const [channels, setChannels] = useState<readonly Channel[]>([])
  useEffect(() => {
    // Without it, fields offer no channels.
    api.get<ConfigValues>('vendor-cache/config').then(
      ({ values }) => setChannels(toChannels(values)),
      () => {},
    )
  }, [api])
  return channels
}

/** `salesChannels[0].url` and so on, as the configuration lists them. */
function toChannels(values: ConfigValues['values']): Channel[] {
  const found: Partial<Channel>[] = []
  for (const { key, value } of values) {
    const [, index, field] = /^salesChannels\[(\d+)\]\.(id|name|url)$/.exec(key) ?? []
    if (index === undefined) continue
    found[Number(index)] = { ...found[Number(index)], [field!]: String(value) }
  }
  return found.filter((channel): channel is Channel => channel.url !== undefined)
}

/** The URLs that a text names: itself, or for a path its URL in each channel. A path may begin with the path of the channel's URL. */
export function toUrls(text: string, channels: readonly Channel[]): string[] {
  if (!text.startsWith('/') || channels.length === 0) return [text]
  return [...new Set(channels.map(({ url }) => absolute(text, url)))]
}

function absolute(path: string, channelUrl: string): string {
  const { origin, pathname } = new URL(channelUrl)
  const prefix = pathname.replace(/\/$/, '')
  return `${origin}${path === prefix || path.startsWith(`${prefix}/`) ? path : prefix + path}`
}
