import { once } from 'node:events'
import { expect, it } from 'vitest'
import { run, start } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'

it.each(['SIGINT', 'SIGTERM'] as const)('%s ends a daemon in order: exit code 0', async (signal) => {
  const child = start(['serve', '--port', '0'], { cwd: await tempDir() })
  let stderr = ''
  for await (const chunk of child.stderr) {
    stderr += String(chunk)
    if (stderr.includes('listens on')) break
  }
  expect(stderr).toContain('pagecache listens on http://127.0.0.1:')
  child.kill(signal)
  const [code, ended] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  expect([code, ended]).toEqual([0, null])
})

it.each([
  [['--origin', 'shop'], '--origin: expected a URL'],
  [['--origin', 'http://127.0.0.1:1/path'], '--origin: expected a URL'],
  [['--origin', 'http://127.0.0.1:1', '--url', 'ftp://shop'], '--url: expected a URL'],
  [['--url', 'http://shop.example'], '--origin'],
  [['--port', '99999'], '--port: expected a whole number up to 65535, not "99999"'],
])('serve %j is refused', async (args, message) => {
  const { code, stderr } = await run(['serve', ...args], { cwd: await tempDir() })
  expect(stderr).toContain(message)
  expect(code).toBe(2)
})
