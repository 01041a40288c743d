import { constants, open } from 'node:fs/promises'

/**
 * Reads a regular file of at most `maxSize` bytes. A device would never end, and opening a pipe without a writer would block without
 * `O_NONBLOCK`. Throws an error whose message says what is wrong with the file.
 */
export async function readBoundedFile(path: string, maxSize: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new Error('it is not a regular file')
    if (stat.size > maxSize) throw new Error(`it is larger than ${maxSize / 1024} KB`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}
