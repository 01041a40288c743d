import type { Kysely } from 'kysely'

/** A table that a test adds to the records for counting. */
export type CountedDatabase = Kysely<{ counted: { payload: number } }>
