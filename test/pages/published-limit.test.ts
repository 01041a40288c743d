import { rm, symlink, writeFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { until } from '../helpers/until.ts'
import type { PageStore } from '../../src/pages/page-store.ts'
import { openPages } from '../stores/pages.ts'

/** A store whose limit is automatic, on a directory of its own or another one's. */
const automatic = (directory?: string, publishesLimit = false) =>
  openPages({ maxSize: null, publishesLimit, ...(directory !== undefined && { directory }) })

/** Computed anew: about the same, since other programs use the disk too. */
function expectAutomatic(pages: PageStore, other: PageStore): void {
  expect(pages.maxSize / other.maxSize).toBeCloseTo(1, 1)
}

it('other processes use the limit that the daemon published', async () => {
  const { pages, directory } = await automatic(undefined, true)
  const file = join(directory, 'pages/limit')
  expect(await readFile(file, 'utf8')).toBe(`${pages.maxSize}\n`)
  await writeFile(file, '123456\n')
  expect((await automatic(directory)).pages.maxSize).toBe(123_456)
  expectAutomatic((await automatic(directory, true)).pages, pages)
})

it('is published again when the directory is cleared', async () => {
  const { pages, directory } = await automatic(undefined, true)
  await rm(join(directory, 'pages'), { recursive: true })
  await until(async () =>
    expect(await readFile(join(directory, 'pages/limit'), 'utf8').catch(() => '')).toBe(`${pages.maxSize}\n`),
  )
})

it.each(['', '0\n', '-5\n', '1e9\n', '12', `${'9'.repeat(40)}\n`])('is not read from a file with %j', async (text) => {
  const { pages, directory } = await automatic()
  await writeFile(join(directory, 'pages/limit'), text)
  expectAutomatic((await automatic(directory)).pages, pages)
})

it('a link in its place is not followed', async () => {
  const { pages, directory } = await automatic()
  const victim = join(directory, 'victim')
  await writeFile(victim, '5\n')
  await symlink(victim, join(directory, 'pages/limit'))
  expectAutomatic((await automatic(directory, true)).pages, pages)
  expect(await readFile(victim, 'utf8')).toBe('5\n')
})
