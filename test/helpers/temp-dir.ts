import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** An empty directory of the running test, removed when the test is over. */
export async function tempDir(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'pagecache-test-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}
