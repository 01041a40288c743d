/** Quick test files about what is in the records: `npm test` runs them on SQLite and, as the project `postgres`, on PostgreSQL. */
export const onBothDatabases: string[] = [
  'test/auth/{clients,sessions,tokens}.test.ts',
  'test/purge/invalidate.test.ts',
  'test/purge/deliver/{deliver-plan,failed}.test.ts',
  'test/queue/{completions,consume,consume-work,dispatch,membership,silence}.test.ts',
  'test/schedule/*.test.ts',
  'test/stages/{deletions,statistics}.test.ts',
  'test/traffic/*.test.ts',
  'test/warmup/run/{concurrency,counts,live,moves,progress,runs,summary,wait,warm}.test.ts',
  'test/workers/run-tasks.test.ts',
]

/** Those that take longer, because they start processes or write much: `npm run test:postgres` runs them on PostgreSQL too. */
export const slowOnBothDatabases: string[] = [
  'test/notify/*.test.ts',
  'test/purge/{crash,groups,purger}.test.ts',
  'test/purge/deliver/deliver.test.ts',
  'test/purge/log/*.test.ts',
  'test/queue/{kills,processes}.test.ts',
  'test/purge/budget.test.ts',
  'test/stages/{sessions,tracker}.test.ts',
  'test/warmup/after-purge.test.ts',
  'test/workers/notify.test.ts',
]

/** Test files about PostgreSQL alone. */
export const onlyPostgres: string[] = [
  'test/records/postgres/*.test.ts',
  'test/cluster/ledger.test.ts',
  'test/e2e/postgres*.test.ts',
]
