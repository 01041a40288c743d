import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { PagecacheError } from '../errors.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import { printable } from '../lib/printable.ts'

/** Paths in messages are cut, in characters. */
const longestShown = 200

/** A path as messages show it. */
export function showPath(path: string): string {
  return printable(path.length > longestShown ? `${path.slice(0, longestShown)}…` : path)
}

/**
 * The project directory, absolute. It has to exist: what is made in a mistyped one would be looked for in vain.
 *
 * @param given what the operator named; undefined for the working directory
 * @throws CONFIG_INVALID where it is no directory that can be opened
 */
export async function findProjectDirectory(given: string | undefined, cwd: string): Promise<string> {
  const hint = 'Create it, or name another one with --project-dir or PAGECACHE_PROJECT_DIR.'
  if (given === '')
    throw new PagecacheError('CONFIG_INVALID', '--project-dir is empty.', {
      hint: 'Name a directory, or leave the flag out for the working directory.',
    })
  const directory = resolve(cwd, given ?? '.')
  const fault = await stat(directory).then(
    (found) => (found.isDirectory() ? null : `${showPath(directory)} is no directory.`),
    (error: NodeJS.ErrnoException) => explain(directory, error),
  )
  if (fault !== null) throw new PagecacheError('CONFIG_INVALID', fault, { hint })
  return directory
}

/** What the system says where no directory can ever be made; without room or rights one may be made later. */
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
      return `There is no project directory ${showPath(directory)}: a part of its path is a file.`
    case 'EACCES':
      return `The project directory ${showPath(directory)} cannot be opened: permission denied.`
    case 'ENAMETOOLONG':
      return `There is no project directory ${showPath(directory)}: its name is too long.`
    case 'ELOOP':
      return `There is no project directory ${showPath(directory)}: its symbolic links lead in a circle.`
    default:
      return `The project directory ${showPath(directory)} cannot be opened: ${printable(message)}.`
  }
}
