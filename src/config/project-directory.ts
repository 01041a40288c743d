import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { PagecacheError } from '../errors.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import { printable } from '../lib/safe-text.ts'

/** Longer paths are truncated in messages, in characters. */
const maxShownLength = 200

/** Formats a path for messages. */
export function showPath(path: string): string {
  return printable(path.length > maxShownLength ? `${path.slice(0, maxShownLength)}…` : path)
}

/**
 * Resolves the project directory to an absolute path. It must exist, so that a mistyped path does not create a new, empty project.
 *
 * @param given undefined for the working directory
 * @throws CONFIG_INVALID if it is not an accessible directory
 */
export function findProjectDirectory(given: string | undefined, cwd: string): string {
  const hint = 'Create it, or choose another one with --project-dir or PAGECACHE_PROJECT_DIR.'
  if (given === '')
    throw new PagecacheError('CONFIG_INVALID', '--project-dir is empty.', {
      hint: 'Name a directory, or omit the flag to use the working directory.',
    })
  const directory = resolve(cwd, given ?? '.')
  const problem = problemOf(directory)
  if (problem !== null) throw new PagecacheError('CONFIG_INVALID', problem, { hint })
  return directory
}

function problemOf(directory: string): string | null {
  try {
    return statSync(directory).isDirectory() ? null : `${showPath(directory)} is not a directory.`
  } catch (error) {
    return explain(directory, error as NodeJS.ErrnoException)
  }
}

/** Errors after which the directory can never be created. After a lack of space or permission it may be created later. */
const neverMade = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'EINVAL'])

/**
 * Checks that the daemon's own directory is there or can be made. A daemon whose disk is full or read-only serves all the same.
 *
 * @throws CONFIG_INVALID where the place holds no directories, as in /proc
 */
export function assertStateDirectory(directory: string): void {
  try {
    makeDirectory(directory, 0o700)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined || !neverMade.has(code)) return
    throw new PagecacheError('CONFIG_INVALID', `The directory ${showPath(directory)} cannot be made (${code}).`, {
      hint: 'Name another project directory with --project-dir or PAGECACHE_PROJECT_DIR.',
    })
  }
}

function explain(directory: string, { code, message }: NodeJS.ErrnoException): string {
  switch (code) {
    case 'ENOENT':
      return `There is no project directory ${showPath(directory)}.`
    case 'ENOTDIR':
      return `There is no project directory ${showPath(directory)}: part of its path is a file.`
    case 'EACCES':
      return `Could not open the project directory ${showPath(directory)}: permission denied.`
    case 'ENAMETOOLONG':
      return `There is no project directory ${showPath(directory)}: its name is too long.`
    case 'ELOOP':
      return `There is no project directory ${showPath(directory)}: its symbolic links form a loop.`
    default:
      return `Could not open the project directory ${showPath(directory)}: ${printable(message)}.`
  }
}
