import type { Migration } from '../migrate.ts'

/** The concurrency that was set for a run. Runs without one follow the configuration. */
export const warmupConcurrency: Migration = {
  name: '0018-warmup-concurrency',
  async up(db) {
    await db.schema.alterTable('warmup_runs').addColumn('concurrency', 'integer').execute()
  },
}
