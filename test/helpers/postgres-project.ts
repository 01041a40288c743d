import type { TestProject } from 'vitest/node'
import { openRecords } from '../../src/records/open.ts'
import { execute, startPostgres } from './postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the server's database `postgres`; `records` is a migrated one. Null where PostgreSQL is not installed. */
    postgres: string | null
  }
}

/** Starts one PostgreSQL server for all test files of the project `postgres`. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres()
  project.provide('postgres', server?.url('postgres') ?? null)
  if (server === null) return async () => {}
  await execute(server.url('postgres'), 'create database records')
  const place = { url: server.url('records'), listenUrl: null, pool: 1 }
  await (await openRecords({ directory: '', postgres: place, now: Date.now })).close()
  return () => server.stop()
}
