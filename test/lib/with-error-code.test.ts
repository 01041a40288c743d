import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { withErrorCode } from '../../src/lib/with-error-code.ts'
import { tempDir } from '../helpers/temp-dir.ts'

it('a database in a missing directory is reported as the system does', async () => {
  const path = join(await tempDir(), 'missing', 'a.sqlite')
  expect(() => withErrorCode(() => new Database(path))).toThrow(
    expect.objectContaining({ code: 'ENOENT', message: 'Cannot open database because the directory does not exist' }),
  )
})

it('other errors are thrown unchanged', () => {
  const mistake = new TypeError('Expected first argument to be a string')
  expect(() =>
    withErrorCode(() => {
      throw mistake
    }),
  ).toThrow(mistake)
})
