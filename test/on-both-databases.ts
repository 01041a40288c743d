/** Test files about what is in the records: `npm test` runs them on SQLite, and `npm run test:postgres` on PostgreSQL. */
export const onBothDatabases: string[] = [
  'test/auth/{clients,sessions,tokens}.test.ts',
  'test/notify/*.test.ts',
  'test/purge/{budget,crash,groups,invalidate,purger}.test.ts',
  'test/purge/deliver/{deliver,deliver-plan,failed}.test.ts',
  'test/purge/log/*.test.ts',
  'test/queue/{completions,consume,consume-work,dispatch,kills,membership,processes,silence}.test.ts',
  'test/schedule/*.test.ts',
  'test/stages/{deletions,sessions,statistics,tracker}.test.ts',
  'test/traffic/*.test.ts',
  'test/warmup/after-purge.test.ts',
  'test/warmup/run/{concurrency,counts,live,moves,progress,runs,summary,wait,warm}.test.ts',
  'test/workers/{notify,run-tasks}.test.ts',
]

/** Test files about PostgreSQL alone. */
export const onlyPostgres: string[] = [
  'test/records/postgres/*.test.ts',
  'test/cluster/{ledger,nodes}.test.ts',
  'test/e2e/postgres*.test.ts',
]
