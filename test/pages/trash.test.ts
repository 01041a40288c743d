import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { removeTrash } from '../../src/pages/clear.ts'
import { childrenOf } from '../helpers/processes.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

/** A directory that was moved aside, with files in its directory `bodies`. */
function trash(directory: string, files: number): string {
  const path = join(directory, '.trash-0123456789abcdef')
  mkdirSync(join(path, 'bodies'), { recursive: true })
  for (let file = 0; file < files; file++) writeFileSync(join(path, 'bodies', `${file}`), 'a body')
  return path
}

/** How many processes `removeTrash` has started. */
async function startedFor(directory: string): Promise<number> {
  const before = await childrenOf(process.pid)
  removeTrash(directory)
  return (await childrenOf(process.pid)).filter((pid) => !before.includes(pid)).length
}

describe('deleting what was moved aside', () => {
  it.each([
    ['a few files', 63, 0],
    ['many files', 64, 1],
  ])('%s: %i beside their directory, in %i processes', async (_, files, processes) => {
    const directory = await tempDir()
    const path = trash(directory, files)
    expect(await startedFor(directory)).toBe(processes)
    await until(() => !existsSync(path))
  })

  it('does not follow links', async () => {
    const directory = await tempDir()
    const kept = await tempDir()
    for (let file = 0; file < 100; file++) writeFileSync(join(kept, `${file}`), 'kept')
    const path = trash(directory, 1)
    symlinkSync(kept, join(path, 'link'))
    symlinkSync(kept, join(directory, '.trash-fedcba9876543210'))
    expect(await startedFor(directory)).toBe(0)
    await until(() => readdirSync(directory).length === 0)
    expect(readdirSync(kept)).toHaveLength(100)
  })
})
