import { onTestFinished } from 'vitest'
import { Authority } from '../../src/auth/authority.ts'
import type { KeyRing } from '../../src/auth/key-ring.ts'
import { openKeys } from '../helpers/keys.ts'
import type { Records } from '../../src/records/open.ts'
import { openRecords } from '../helpers/records.ts'
import { tempDir } from '../helpers/temp-dir.ts'

export const lifetime = 600_000

/** Opens an authority with its own records and keys, and a clock that the test sets. */
export async function openAuthority(
  directory?: string,
): Promise<{ authority: Authority; records: Records; keys: KeyRing; dataDir: string; clock: { now: number } }> {
  const dataDir = directory ?? (await tempDir())
  const clock = { now: Date.parse('2026-11-21T12:00:00Z') }
  const records = await openRecords({ directory: dataDir, now: () => clock.now })
  onTestFinished(() => records.close())
  const keys = openKeys({ records, dataDir, lifetime })
  return { authority: new Authority(records, keys, lifetime), records, keys, dataDir, clock }
}
