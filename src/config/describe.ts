import { maskUrls } from '../lib/safe-text.ts'
import { writeDuration, writeShare, writeSize } from '../lib/quantity.ts'
import { kindAt, leaves } from './keys.ts'
import type { LoadedConfig } from './load.ts'
import { isSecret, writeKeyPath, writeSource, type KeyPath } from './raw.ts'

/** A value of the effective configuration, formatted as in the file, and its source. */
export interface DescribedValue {
  key: string
  value: unknown
  source: string
}

/** Lists all values in the order of the schema, with secrets masked. */
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
  if (kind === 'share') return writeShare(value)
  return kind === 'size' ? writeSize(value) : value
}

/** Masks secrets, and the credentials in URLs. */
function mask(path: KeyPath, value: unknown): unknown {
  if (isSecret(path)) return value === null ? null : '***'
  if (typeof value === 'string') return maskUrls(value)
  return Array.isArray(value) ? value.map((item: unknown) => mask([...path, 0], item)) : value
}
