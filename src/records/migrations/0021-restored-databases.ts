import type { Migration } from '../migrate.ts'
import { describeTables } from './per-database.ts'

/** A restored dump is another database for the order of purges. */
export const restoredDatabases: Migration = {
  name: '0021-restored-databases',
  up: describeTables,
}
