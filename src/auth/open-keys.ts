import type { Records } from '../records/open.ts'
import { KeyFiles, type KeyFilesOptions } from './key-files.ts'
import type { KeyRing } from './key-ring.ts'
import { KeyRows } from './key-rows.ts'

/** Opens the keys that sign tokens: in the records if `records` is given, otherwise in files. Creates the first file if needed. */
export async function openKeys(options: KeyFilesOptions & { records: Records | null }): Promise<KeyRing> {
  if (options.records !== null) return new KeyRows(options.records, options)
  const keys = new KeyFiles(options)
  await keys.current()
  return keys
}
