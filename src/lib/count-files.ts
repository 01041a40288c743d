import { opendir } from 'node:fs/promises'

/** Counts the files below a directory, links and sockets included; 0 where there is no directory. */
export async function countFiles(directory: string): Promise<number> {
  let files = 0
  try {
    for await (const entry of await opendir(directory, { recursive: true })) {
      if (!entry.isDirectory()) files += 1
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return files
}
