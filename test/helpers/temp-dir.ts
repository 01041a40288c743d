import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** An empty directory of the running test, removed when the test is over. */
export async function tempDir(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'pagecache-test-'))
  // A program killed a moment ago may still be writing there.
  onTestFinished(() => rm(directory, { recursive: true, force: true, maxRetries: 10 }))
  return directory
}
