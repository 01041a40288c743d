import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Workspace } from '../../src/demo/workspace.ts'
import { until } from '../helpers/until.ts'

const never = new AbortController().signal
let directory: string
let workspace: Workspace

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'pagecache-workspace-'))
  workspace = new Workspace(directory, { ...process.env, PAGECACHE_SERVER: 'http://elsewhere.example', APP_ENV: 'dev' })
})
afterEach(() => workspace.close())

it("runs a program in its directory, without the environment variables of the operator's own cache", async () => {
  const program =
    'fs.writeFileSync("seen", JSON.stringify([process.cwd(), process.env.PAGECACHE_SERVER, process.env.APP_ENV]))'
  await workspace.run(['-e', program], never, 2)
  expect(JSON.parse(readFileSync(join(directory, 'seen'), 'utf8'))).toEqual([directory, null, null])
})

it('fails with the exit code of the program', async () => {
  await expect(workspace.run(['-e', 'process.exit(3)'], never, 2)).rejects.toMatchObject({
    code: 'CHECK_FAILED',
    message: expect.stringContaining('exited with 3'),
  })
})

it('interrupts the running program when the demo is interrupted', async () => {
  const ending = new AbortController()
  const running = workspace.run(
    ['-e', 'fs.writeFileSync("started", ""); setInterval(() => {}, 1000)'],
    ending.signal,
    2,
  )
  await until(() => expect(existsSync(join(directory, 'started'))).toBe(true))
  ending.abort()
  await expect(running).rejects.toMatchObject({ name: 'AbortError' })
})

it('reports the output of a helper that exited before it was ready', async () => {
  const starting = workspace.start(['-e', 'console.error("port is taken"); process.exit(1)'], never, () => false)
  await expect(starting).rejects.toMatchObject({
    code: 'CHECK_FAILED',
    message: expect.stringMatching(/exited with 1\.\nport is taken$/),
  })
})

it('leaves no processes or files behind', async () => {
  const printed = await workspace.start(
    ['-e', 'console.log(process.pid); setInterval(() => {}, 1000)'],
    never,
    (text) => text.includes('\n'),
  )
  await workspace.close()
  expect(() => process.kill(Number(printed), 0)).toThrow('ESRCH')
  expect(existsSync(directory)).toBe(false)
})
