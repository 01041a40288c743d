import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startChild } from './child.ts'
import { freePort } from './daemon.ts'
import { execute, otherUser } from './postgres.ts'

/** Whether the pooler is installed. */
export const hasPgbouncer = spawnSync('pgbouncer', ['--version']).status === 0

/** Starts PgBouncer, in transaction mode unless `settings` say otherwise, before a test's database; returns the URL through it. */
export async function startPgbouncer(
  url: string,
  directory: string,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<{ url: string; stop(): Promise<unknown> }> {
  const { searchParams, pathname } = new URL(url)
  const port = await freePort()
  const users = join(directory, 'users.txt')
  writeFileSync(users, '"pagecache" ""\n')
  const file = join(directory, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
* = host=${searchParams.get('host')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
${Object.entries({ pool_mode: 'transaction', default_pool_size: 20, ...settings })
  .map(([name, value]) => `${name} = ${value}\n`)
  .join('')}`,
  )
  // It refuses to run as root; the server's user has access to the server's socket.
  const user = process.getuid?.() === 0 ? otherUser() : null
  for (const [path, mode] of [
    [directory, 0o755],
    [users, 0o644],
    [file, 0o644],
  ] as const)
    chmodSync(path, mode)
  const through = `postgres://pagecache@127.0.0.1:${port}${pathname}`
  const { stop } = await startChild(['pgbouncer', ...(user === null ? [] : ['-u', user.name]), '-q', file], {
    ready: () =>
      execute(through, 'select 1').then(
        () => true,
        () => false,
      ),
  })
  return { url: through, stop }
}
