import { inject } from 'vitest'

/** Whether the tests of this file run on PostgreSQL. */
export const onPostgres = inject('postgres') !== undefined
