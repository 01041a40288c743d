import { spawnSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { tempDir } from '../helpers/temp-dir.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const vitest = join(root, 'node_modules/vitest/vitest.mjs')

const files = {
  '../package.json': '{"type":"module"}',
  '../vitest.config.js': 'export default { test: { globals: true, maxWorkers: 1, isolate: false } }',
  'tests.test.js': `
    it('passes', () => {})
    it.skip('is skipped', () => {})
    describe('a page', () => {
      it('fails', () => { expect({ a: 1 }, 'its value').toEqual({ a: 2 }) })
      it('throws a string', () => { throw 'first line\\nsecond line' })
    })`,
  'hooks.test.js': `
    describe('a group', () => {
      beforeAll(() => { throw new Error('no database') })
      it('is never reached', () => {})
    })`,
  'unloadable.test.js': `import './missing.js'`,
  'unhandled.test.js': `it('passes', () => { void Promise.reject(new Error('nobody caught this')) })`,
}

it('names each failed test, hook, file and run above the number of tests', async () => {
  const directory = await tempDir()
  await mkdir(join(directory, 'test'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, 'test', name), text)
  const options = {
    cwd: directory,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], REPORT: 'report.json' },
  } as const
  const args = ['run', `--reporter=${root}.ci/report.js`]
  expect(spawnSync(process.execPath, [vitest, ...args], options).status).toBe(1)

  const summary = [join(root, '.ci/summary.js'), 'report.json', 'crashed.json']
  const lines = spawnSync(process.execPath, summary, options).stdout.trim().split('\n')
  expect(lines.at(-1)).toBe('2 passed, 6 failed, 2 skipped')
  expect(lines.slice(0, -1).toSorted()).toEqual([
    'crashed.json is missing',
    'outside of tests: nobody caught this',
    'test/hooks.test.js > a group: no database',
    'test/tests.test.js > a page > fails: its value: expected { a: 1 } to deeply equal { a: 2 }',
    'test/tests.test.js > a page > throws a string: first line',
    expect.stringMatching(/^test\/unloadable\.test\.js: Cannot find module '.*missing\.js'/),
  ])
})
