import { leaves } from './keys.ts'
import type { LoadedConfig } from './load.ts'
import { writeKeyPath, type Source } from './raw.ts'

/** A loaded configuration in a form that can be sent to another process as JSON. */
export interface PlainConfig extends Pick<
  LoadedConfig,
  'environment' | 'places' | 'file' | 'config' | 'customerKey' | 'errorPage'
> {
  /** Sources of all values that are not defaults, by key path. */
  sources: Record<string, Source>
}

/** Converts a configuration for `fromPlain`. The result contains secrets. */
export function toPlain({
  environment,
  places,
  file,
  config,
  customerKey,
  errorPage,
  sourceOf,
}: LoadedConfig): PlainConfig {
  const sources = leaves(config)
    .map(({ path }): [string, Source] => [writeKeyPath(path), sourceOf(path)])
    .filter(([, source]) => source.kind !== 'default')
  return {
    environment,
    places,
    file,
    config,
    ...(customerKey !== undefined && { customerKey }),
    ...(errorPage !== undefined && { errorPage }),
    sources: Object.fromEntries(sources),
  }
}

/** Restores a configuration that another process has loaded and validated. */
export function fromPlain({ sources, ...loaded }: PlainConfig): LoadedConfig {
  const known = new Map(Object.entries(sources))
  return { ...loaded, fault: null, sourceOf: (path) => known.get(writeKeyPath(path)) ?? { kind: 'default' } }
}
