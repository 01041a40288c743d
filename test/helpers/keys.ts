import { KeyFiles } from '../../src/auth/key-files.ts'
import type { KeyRing } from '../../src/auth/key-ring.ts'
import { KeyRows } from '../../src/auth/key-rows.ts'
import type { Records } from '../../src/records/records.ts'
import { onPostgres } from './on-postgres.ts'

/** Opens the signing keys where the database of the running test has them. */
export function openKeys(options: { records: Records; dataDir: string; lifetime: number }): KeyRing {
  if (onPostgres) return new KeyRows(options.records, options)
  return new KeyFiles({ ...options, now: () => options.records.now() })
}
