import type { Records } from '../../records/open.ts'
import type { RecordsTransaction } from '../../records/schema.ts'
import type { WarmupOriginRow } from '../../records/warm-rows.ts'
import { prepare } from '../../records/statements.ts'
import type { PaceRules } from './pace.ts'
import { Pacer } from './pacer.ts'
import type { Timing } from '../../lib/timing.ts'

/** A saved pace older than this says nothing about the origin any more (milliseconds). */
const maxAge = 5 * 60_000

/** Saved as the limit of an origin that is not throttled: the next process applies its own concurrency. */
const unlimited = 1_000_000

/** Opens a pacer that continues with the rate and pause saved by the process that worked on this origin before. */
export async function openPacer(records: Records, origin: string, rules: PaceRules, timing: Timing): Promise<Pacer> {
  const row = await records.db.selectFrom('warmup_origins').selectAll().where('origin', '=', origin).executeTakeFirst()
  const now = records.now()
  if (!row || now - row.at > maxAge) return new Pacer(rules, timing)
  // The wall clock may have been set back since: never wait longer than the rules allow.
  const wait = Math.min(row.not_before - now, Math.max(rules.maxWait, 1000))
  return new Pacer(rules, timing, {
    limit: row.concurrency < unlimited ? row.concurrency : Infinity,
    notBefore: timing.now() + wait,
  })
}

/**
 * Saves the pace of an origin for the next process that works on it, whose concurrency may be another one: it inherits only what
 * throttles the origin. `now`: milliseconds since the epoch.
 */
export async function savePace(
  transaction: RecordsTransaction,
  origin: string,
  pacer: Pacer,
  timing: Timing,
  now: number,
): Promise<void> {
  const wait = Math.max(0, pacer.notBefore - timing.now())
  const limit = Math.min(pacer.pace.limit, unlimited)
  await writePace(transaction, { origin, not_before: Math.round(now + wait), concurrency: limit, at: now })
}

const writePace = prepare<WarmupOriginRow>((db, row) => {
  const { origin, not_before, concurrency, at } = row
  return db
    .insertInto('warmup_origins')
    .values({ origin, not_before, concurrency, at })
    .onConflict((conflict) => conflict.column('origin').doUpdateSet({ not_before, concurrency, at }))
})
