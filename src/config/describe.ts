import { maskUrls } from '../lib/mask.ts'
import { writeDuration, writeSize } from '../lib/quantity.ts'
import { kindAt, leaves } from './keys.ts'
import type { LoadedConfig } from './load.ts'
import { isSecret, writeKeyPath, writeSource, type KeyPath } from './raw.ts'

/** One value of the effective configuration: as it would be written in the file, and where it comes from. */
export interface DescribedValue {
  key: string
  value: unknown
  source: string
}

/** Every value of a loaded configuration, in the order of the schema, with secrets masked. */
export function describeConfig(loaded: Pick<LoadedConfig, 'config' | 'sourceOf'>): DescribedValue[] {
  return leaves(loaded.config).map(({ path, value }) => ({
    key: writeKeyPath(path),
    value: mask(path, writeValue(path, value)),
    source: writeSource(loaded.sourceOf(path)),
  }))
}

function writeValue(path: KeyPath, value: unknown): unknown {
  if (typeof value !== 'number') return value
  const kind = kindAt(path)
  if (kind === 'duration') return writeDuration(value)
  return kind === 'size' ? writeSize(value) : value
}

/** Credentials may stand in any URL. */
function mask(path: KeyPath, value: unknown): unknown {
  if (isSecret(path)) return '***'
  if (typeof value === 'string') return maskUrls(value)
  return Array.isArray(value) ? value.map((item: unknown) => mask([...path, 0], item)) : value
}
