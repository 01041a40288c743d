import { expect, it, onTestFinished } from 'vitest'
import { PageWriter } from '../../src/pages/page-writer.ts'
import { tempDir } from '../helpers/temp-dir.ts'

it('a thread that could not be started is started again by the next task', async () => {
  const directory = await tempDir()
  let starts = 0
  const data = {
    // Read while the thread is created, which fails where the system has no thread left.
    get directory() {
      starts += 1
      if (starts === 1) throw new Error('no thread left')
      return directory
    },
    maxSize: null,
    maxVariants: 64,
  }
  const writer = new PageWriter(data, () => {})
  onTestFinished(() => writer.close())
  await expect(writer.ask({ kind: 'hits', hits: [] }, 0)).rejects.toThrow('no thread left')
  expect(await writer.ask({ kind: 'hits', hits: [] }, 0)).toBe(null)
})
