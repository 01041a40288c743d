import { readFileSync, watch } from 'node:fs'
import { dirname } from 'node:path'

/** Milliseconds of quiet after a change: editors write a file in several steps. */
const settleTime = 300

/**
 * Calls back whenever the content of a file has changed. Watches its directory, because editors and configuration managers replace the file
 * or a symbolic link in its path.
 *
 * @returns stops watching
 * @throws the system's error when the directory cannot be watched
 */
export function watchConfig(file: string, onChange: () => void): () => void {
  let content = read(file)
  let timer: NodeJS.Timeout | undefined
  const watcher = watch(dirname(file), () => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      const now = read(file)
      if (now === content) return
      content = now
      // Between the two steps of a replacement there is no file.
      if (now !== null) onChange()
    }, settleTime)
  })
  return () => {
    clearTimeout(timer)
    watcher.close()
  }
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
