import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a directory and its missing parents, each with this mode. Tries each level twice at most: Node's `recursive`
 * option never returns when the system reports ENOENT below an existing directory, as in /proc.
 *
 * @throws the system's error when a level cannot be created or is not a directory
 */
export function makeDirectory(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && statSync(path).isDirectory()) return
    const above = dirname(path)
    if (code !== 'ENOENT' || above === path) throw error
    makeDirectory(above, mode)
    mkdirAgain(path, mode)
  }
}

/** Tolerates another process that created it meanwhile. */
function mkdirAgain(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !statSync(path).isDirectory()) throw error
  }
}
