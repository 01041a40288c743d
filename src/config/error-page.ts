import { isUtf8 } from 'node:buffer'
import { resolve } from 'node:path'
import { readBoundedFile } from '../lib/read-bounded-file.ts'
import { toConfigError } from './faults.ts'
import type { LoadedConfig } from './load.ts'

/** Bytes. It is held in memory and sent to every visitor while the shop is down. */
const maxSize = 256 * 1024

/**
 * Adds the content of the file named by `errorPage` to the configuration, so that child processes read no file.
 *
 * @throws CONFIG_INVALID with the problem of the file
 */
export async function withErrorPage(loaded: LoadedConfig): Promise<LoadedConfig> {
  const { errorPage } = loaded.config
  if (errorPage === null) return loaded
  try {
    const bytes = await readBoundedFile(resolve(loaded.places.projectDir, errorPage), maxSize)
    if (!isUtf8(bytes)) throw new Error('it is not UTF-8 text')
    return { ...loaded, errorPage: bytes.toString('utf8') }
  } catch (error) {
    throw toConfigError(
      [
        {
          key: 'errorPage',
          source: loaded.sourceOf(['errorPage']),
          message: `cannot be read: ${(error as Error).message}`,
        },
      ],
      'Name an HTML file that the daemon can read, or set errorPage to null for the built-in page.',
    )
  }
}
