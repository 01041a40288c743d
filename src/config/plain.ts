import { leaves } from './keys.ts'
import type { LoadedConfig } from './load.ts'
import { writeKeyPath, type Source } from './raw.ts'

/** A loaded configuration as one process hands it to another: nothing in it that JSON could not carry. */
export interface PlainConfig extends Pick<LoadedConfig, 'environment' | 'places' | 'file' | 'config' | 'customerKey'> {
  /** Where each value comes from that is no default, by its key path. */
  sources: Record<string, Source>
}

/** What `fromPlain` makes the same configuration of, secrets included: not for anybody else's eyes. */
export function toPlain({ environment, places, file, config, customerKey, sourceOf }: LoadedConfig): PlainConfig {
  const sources = leaves(config)
    .map(({ path }): [string, Source] => [writeKeyPath(path), sourceOf(path)])
    .filter(([, source]) => source.kind !== 'default')
  return {
    environment,
    places,
    file,
    config,
    ...(customerKey !== undefined && { customerKey }),
    sources: Object.fromEntries(sources),
  }
}

/** The configuration that another process loaded; whoever hands it over has checked it. */
export function fromPlain({ sources, ...loaded }: PlainConfig): LoadedConfig {
  const known = new Map(Object.entries(sources))
  return { ...loaded, fault: null, sourceOf: (path) => known.get(writeKeyPath(path)) ?? { kind: 'default' } }
}
