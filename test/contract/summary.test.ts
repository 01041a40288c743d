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
    it('is skipped', ({ skip }) => skip())
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
  'unhandled.test.js': `it('passes', () => { void Promise.reject(new Error('not caught')) })`,
}

const ci = (program: string) => join(root, '.ci', program)

/** A project of its own with these test files below `test`. */
async function project(tests: Record<string, string>) {
  const directory = await tempDir()
  await mkdir(join(directory, 'test'))
  for (const [name, text] of Object.entries(tests)) await writeFile(join(directory, 'test', name), text)
  const run = (args: string[], report = '') =>
    spawnSync(process.execPath, args, {
      cwd: directory,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], REPORT: report },
    })
  return {
    directory,
    test: (report: string, ...names: string[]) =>
      run([vitest, 'run', `--reporter=${ci('report.js')}`, ...names], report).status,
    failed: (report: string) =>
      run([ci('failed.js'), report])
        .stdout.trim()
        .split('\n'),
    summary(...reports: string[]) {
      const { stdout, status } = run([ci('summary.js'), ...reports])
      const lines = stdout.trim().split('\n')
      return { last: lines.at(-1), others: lines.slice(0, -1).toSorted(), status }
    },
  }
}

it('names each failed test, hook, file and run above the number of tests', async () => {
  const { test, failed, summary } = await project(files)
  expect(test('report.json')).toBe(1)
  expect(summary('report.json', 'crashed.json')).toEqual({
    status: 1,
    last: '2 passed, 6 failed, 2 skipped',
    others: [
      'crashed.json is missing',
      'outside of tests: not caught',
      'test/hooks.test.js > a group: no database',
      'test/tests.test.js > a page > fails: its value: expected { a: 1 } to deeply equal { a: 2 }',
      'test/tests.test.js > a page > throws a string: first line',
      expect.stringMatching(/^test\/unloadable\.test\.js: Cannot find module '.*missing\.js'/),
    ],
  })
  expect(failed('report.json'), 'an error outside of tests is no accident').toEqual([''])
  expect(failed('crashed.json')).toEqual([''])
})

it('counts files that were run again as they ended then, and names what had failed before', async () => {
  const { directory, test, failed, summary } = await project({
    '../package.json': files['../package.json'],
    '../vitest.config.js': files['../vitest.config.js'],
    'busy.test.js': `
      import { existsSync } from 'node:fs'
      it('passes', () => {})
      it('waits', () => { expect(existsSync('quiet')).toBe(true) })
      it('fails', () => { expect(existsSync('mended')).toBe(true) })`,
    'other.test.js': `it('passes', () => {})`,
  })
  expect(test('report.json')).toBe(1)
  expect(failed('report.json')).toEqual(['test/busy.test.js'])
  await writeFile(join(directory, 'quiet'), '')
  expect(test('report-again.json', 'test/busy.test.js')).toBe(1)
  const stillFails = 'test/busy.test.js > fails: expected false to be true // Object.is equality'
  expect(summary('report.json')).toEqual({ status: 1, last: '3 passed, 1 failed', others: [stillFails] })

  await writeFile(join(directory, 'mended'), '')
  expect(test('report-again.json', 'test/busy.test.js')).toBe(0)
  const waited = 'passed when run again: test/busy.test.js > waits: expected false to be true // Object.is equality'
  expect(summary('report.json')).toEqual({
    status: 0,
    last: '4 passed, 0 failed',
    others: [`passed when run again: ${stillFails}`, waited],
  })
})

it('runs nothing again where many files fail', async () => {
  const many = Array.from({ length: 6 }, (_, at) => [`${at}.test.js`, `it('fails', () => { throw new Error() })`])
  const { test, failed } = await project({ ...files, ...Object.fromEntries(many), 'unhandled.test.js': '' })
  expect(test('report.json')).toBe(1)
  expect(failed('report.json')).toEqual([''])
})

it('does not count an interrupted run as passed', async () => {
  const { test, failed, summary } = await project({
    '../package.json': files['../package.json'],
    '../vitest.config.js': files['../vitest.config.js'],
    '../cancelling.js': `
      export default class Cancelling {
        onInit(vitest) { this.vitest = vitest }
        // Waiting for it here would wait for this method.
        onTestCaseResult() { void this.vitest.cancelCurrentRun('keyboard-input') }
      }`,
    'tests.test.js': `
      it('passes', () => {})
      it('may not be reached', () => {})`,
  })
  test('report.json', '--reporter=./cancelling.js')
  expect(summary('report.json')).toMatchObject({ status: 1, others: ['the run was interrupted: tests are missing'] })
  expect(failed('report.json')).toEqual([''])
})
