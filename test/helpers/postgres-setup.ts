import { afterEach, beforeAll, beforeEach, inject } from 'vitest'
import { execute } from './postgres.ts'
import { countStatements } from './statements-in-flight.ts'

/** Gives each test of the project `postgres` an empty database, which the programs that it starts use too. */
const variable = 'PAGECACHE_RECORDS_URL'
const template = inject('postgres')
/** Workers run one test file at a time, so each has one database; making one takes longer than emptying it. */
const name = `worker_${process.env['VITEST_POOL_ID']}`

countStatements()

beforeAll(async () => {
  if (template === null) return
  const { rowCount } = await execute(template, `select 1 from pg_database where datname = '${name}'`)
  if (rowCount === 0) await execute(template, `create database ${name} template records`)
})

beforeEach(async (context) => {
  if (template === null) return context.skip('PostgreSQL is not installed')
  const url = template.replace('/postgres?', `/${name}?`)
  await execute(url, empty)
  process.env[variable] = url
})

afterEach(() => {
  delete process.env[variable]
})

/** Drops the tables of tests, deletes all rows, whatever refers to them, and starts numbers at 1 again. */
const empty = `do $$ declare name text; begin
  perform pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid();
  drop table if exists counted, foreign_table;
  set local session_replication_role = replica;
  for name in select tablename from pg_tables where schemaname = 'public' and tablename <> 'pagecache_schema' loop
    execute format('delete from %I', name);
  end loop;
  perform setval(format('%I', sequencename)::regclass, 1, false) from pg_sequences where schemaname = 'public';
end $$`
