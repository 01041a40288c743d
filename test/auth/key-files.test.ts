import { spawn } from 'node:child_process'
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { KeyFiles } from '../../src/auth/key-files.ts'
import { tempDir } from '../helpers/temp-dir.ts'

const options = (dataDir: string) => ({ dataDir, now: () => Date.now(), lifetime: 600_000 })

it('are readable by their owner only', async () => {
  const dataDir = await tempDir()
  const ring = new KeyFiles(options(dataDir))
  await ring.current()
  await ring.rotate({ dropOld: false })
  expect((await stat(join(dataDir, 'keys'))).mode & 0o777).toBe(0o700)
  const names = await readdir(join(dataDir, 'keys'))
  expect(names).toEqual(['000001.json', '000002.json'])
  for (const name of names) expect((await stat(join(dataDir, 'keys', name))).mode & 0o777).toBe(0o600)
})

it('that cannot be read are refused without quoting them', async () => {
  const dataDir = await tempDir()
  await new KeyFiles(options(dataDir)).current()
  const file = join(dataDir, 'keys', '000001.json')
  await writeFile(file, (await readFile(file, 'utf8')).replace(/"d":"[^"]*"/, '"d":"canary"'))
  expect(() => new KeyFiles(options(dataDir))).toThrow(
    expect.objectContaining({
      code: 'STORE_DAMAGED',
      message: expect.not.stringContaining('canary') as string,
    }) as Error,
  )
})

it('that are missing are created again', async () => {
  const dataDir = await tempDir()
  const ring = new KeyFiles(options(dataDir))
  const { kid } = await ring.current()
  await rm(join(dataDir, 'keys', '000001.json'))
  expect(await ring.find(kid)).toBeNull()
  expect((await ring.current()).kid).not.toBe(kid)
})

it('eight processes that start at once use the same one', async () => {
  const dataDir = await tempDir()
  const module = fileURLToPath(new URL('../../src/auth/key-files.ts', import.meta.url))
  const code = `const { KeyFiles } = await import(${JSON.stringify(module)}); process.stdout.write((await new KeyFiles({ dataDir: ${JSON.stringify(dataDir)}, now: () => Date.now(), lifetime: 600000 }).current()).kid)`
  const kids = await Promise.all(Array.from({ length: 8 }, () => outputOf(code)))
  expect(kids[0]).toMatch(/^[\w-]{16}$/)
  expect(new Set(kids).size).toBe(1)
})

async function outputOf(code: string): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  await new Promise((resolve) => child.once('close', resolve))
  return text
}

it('are limited to twenty until tokens expire or all keys are dropped', async () => {
  const dataDir = await tempDir()
  const clock = { now: Date.parse('2026-11-21T12:00:00Z') }
  const ring = new KeyFiles({ ...options(dataDir), now: () => clock.now })
  await ring.current()
  for (let count = 1; count < 20; count++) await ring.rotate({ dropOld: false })
  await expect(ring.rotate({ dropOld: false })).rejects.toThrow(
    expect.objectContaining({ code: 'TOO_MANY_REQUESTS' }) as Error,
  )
  clock.now += 700_000
  const { kid } = await ring.rotate({ dropOld: false })
  // The key that was current until now has signed tokens until now.
  expect(await readdir(join(dataDir, 'keys'))).toEqual(['000020.json', '000021.json'])
  expect((await ring.current()).kid).toBe(kid)
  for (let count = 0; count < 30; count++) await ring.rotate({ dropOld: true })
  expect(await readdir(join(dataDir, 'keys'))).toEqual(['000051.json'])
})

it('continue after the last number of six digits', async () => {
  const dataDir = await tempDir()
  const ring = new KeyFiles(options(dataDir))
  await ring.current()
  await rename(join(dataDir, 'keys', '000001.json'), join(dataDir, 'keys', '999999.json'))
  const { kid } = await ring.rotate({ dropOld: false })
  expect((await readdir(join(dataDir, 'keys'))).toSorted()).toEqual(['1000000.json', '999999.json'])
  expect((await ring.current()).kid).toBe(kid)
})
