/** Test files about what is in the records: they run on SQLite and, as the project `postgres`, on PostgreSQL. */
export const onBothDatabases: string[] = [
  'test/auth/{clients,tokens}.test.ts',
  'test/purge/{crash,groups,invalidate,purger}.test.ts',
  'test/purge/{deliver,log}/*.test.ts',
  'test/queue/*.test.ts',
  'test/schedule/*.test.ts',
  'test/stages/{deletions,statistics}.test.ts',
  'test/traffic/*.test.ts',
  'test/warmup/after-purge.test.ts',
  'test/warmup/run/{counts,live,moves,progress,runs,summary,wait,warm}.test.ts',
  'test/workers/run-tasks.test.ts',
]

/** Test files about PostgreSQL alone. */
export const onlyPostgres: string[] = ['test/records/postgres/*.test.ts', 'test/e2e/postgres*.test.ts']
