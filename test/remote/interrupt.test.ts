import { once } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { start } from '../helpers/cli.ts'
import { startOrigin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'

it.each(['SIGINT', 'SIGTERM'] as const)('%s ends a command that waits for a daemon, with 130', async (signal) => {
  const daemon = await startOrigin()
  onTestFinished(() => daemon.stop())
  const asked = new Promise<void>((resolve) => {
    daemon.on('/api/oauth/token', (): Promise<undefined> => {
      resolve()
      return new Promise(() => {})
    })
  })
  const env = { PAGECACHE_SERVER: daemon.url, PAGECACHE_CLIENT_ID: 'me', PAGECACHE_CLIENT_SECRET: 'canary' }
  const child = start(['cache:stats'], { cwd: await tempDir(), env })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  await asked
  child.kill(signal)
  expect(await once(child, 'close')).toEqual([130, null])
  expect(stderr).toBe('Error: Interrupted.\n')
})
