import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it, onTestFinished, vi } from 'vitest'
import { LedgerFile } from '../../src/pages/ledger-file.ts'
import { placesIn } from '../../src/pages/places.ts'
import { afterCall } from '../helpers/after-call.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { aMoment, bodyOf, openPages, store } from '../stores/pages.ts'

/** Runs something once before SQLite gets a pragma. */
function beforePragma(source: string, run: () => void): void {
  const { pragma } = Database.prototype
  const spy = vi.spyOn(Database.prototype, 'pragma').mockImplementation(function (this: Database.Database, ...args) {
    if (args[0] === source) {
      spy.mockRestore()
      run()
    }
    return pragma.apply(this, args)
  })
  onTestFinished(() => spy.mockRestore())
}

const moments: [string, (run: () => void) => void][] = [
  ['its directory was created', (run) => afterCall('mkdirSync', run)],
  ['its file was created', (run) => afterCall('closeSync', run)],
  ['its database was opened', (run) => beforePragma('synchronous = OFF', run)],
  ['its log was begun', (run) => beforePragma('application_id = 1885823848', run)],
  ['it was put in place', (run) => beforePragma('application_id', run)],
  ['it was opened', (run) => beforePragma('synchronous = NORMAL', run)],
]

it.each(moments)('the cache directory is deleted during the creation of an index, after %s', async (_, arrange) => {
  const directory = await tempDir()
  const remove = vi.fn<() => void>(() => rmSync(directory, { recursive: true }))
  arrange(remove)
  const { pages, warnings } = await openPages({ directory })
  expect(remove).toHaveBeenCalledOnce()
  expect(pages.fault()).toBeNull()
  expect(await pages.readBody((await store(pages, 'a'))!)).toEqual(bodyOf('a'))
  expect(existsSync(placesIn(directory).index)).toBe(true)
  expect(warnings).toEqual([])
})

it('the cache directory is deleted while the ledger of confirmed visitors is opened', async () => {
  const directory = join(await tempDir(), 'cache')
  const ledger = new LedgerFile(join(directory, 'confirmed.sqlite'), () => aMoment)
  afterCall('mkdirSync', () => rmSync(directory, { recursive: true }))
  ledger.add('a')
  expect(existsSync(directory)).toBe(false)
  expect(ledger.has('a')).toBe(true)
})
