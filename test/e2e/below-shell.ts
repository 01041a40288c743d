import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { startChild } from '../helpers/child.ts'
import { freePort } from '../helpers/daemon.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

/**
 * Starts a daemon with several processes under a shell that outlives it and says with which code it ended. A daemon started directly would
 * take its whole process group along.
 */
export async function startBelowShell(ready: (pid: number, logs: string) => Promise<boolean>) {
  const cwd = await tempDir()
  await writeFile(join(cwd, 'pagecache.yaml'), stringify({ server: { processes: 2, port: await freePort() } }))
  const script = '"$@" & echo "daemon $!"; wait $!; echo "ended $?"; while :; do sleep 1; done'
  const pidOf = (logs: string) => Number(/daemon (\d+)/.exec(logs)?.[1])
  const shell = await startChild(['sh', '-c', script, 'sh', process.execPath, program, 'serve'], {
    cwd,
    env: { ...process.env, PAGECACHE_PROJECT_DIR: cwd },
    ready: async (logs) => pidOf(logs) > 0 && (await ready(pidOf(logs), logs)),
  })
  onTestFinished(() => void shell.stop())
  return { pid: pidOf(shell.logs()), logs: shell.logs }
}
