import { useEffect, useState } from 'preact/hooks'
import type { ConfigValues } from './answers.ts'
import { useApi } from './api-context.ts'
import type { Channel } from './urls.ts'

const none: readonly Channel[] = []

/** The sales channels of the configuration; an empty list until they are known. */
export function useChannels(): readonly Channel[] {
  return useKnownChannels() ?? none
}

/** The sales channels of the configuration; null until they are known. */
export function useKnownChannels(): readonly Channel[] | null {
  const api = useApi()
  const [channels, setChannels] = useState<readonly Channel[] | null>(null)
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
