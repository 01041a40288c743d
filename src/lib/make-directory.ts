import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a directory and the ones above it that are missing, each with this mode. Node's own `recursive` never returns where the system
 * says ENOENT below a directory that exists, as in /proc: here each level is tried twice at most.
 *
 * @throws the system's error where one of them cannot be made, or is no directory
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

/** Another process may have made it meanwhile. */
function mkdirAgain(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !statSync(path).isDirectory()) throw error
  }
}
