import type { Kysely } from 'kysely'

/** A table that a test adds to the records, to count in it. */
export type CountedDatabase = Kysely<{ counted: { payload: number } }>
