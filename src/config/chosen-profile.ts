import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { makeDirectory } from '../lib/make-directory.ts'
import { processVariables, type Variables } from './environment.ts'

/**
 * The profiles that a user has chosen with `profile:use`, by project directory. They belong to the user, not to the project: other users
 * and the daemon of the project are not affected.
 */
function fileOf(variables: Variables): string {
  return join(
    variables['XDG_CONFIG_HOME'] || join(variables['HOME'] || homedir(), '.config'),
    'pagecache',
    'profiles.json',
  )
}

function readAll(variables: Variables): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(readFileSync(fileOf(variables), 'utf8'))
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** The chosen profile of a project; null for this machine. @param projectDir as given; undefined: from the variables, or the working directory */
export function chosenProfile(
  projectDir: string | undefined,
  variables: Variables = processVariables(),
  cwd = process.cwd(),
): string | null {
  const all = readAll(variables)
  const directory = resolve(cwd, projectDir ?? (variables['PAGECACHE_PROJECT_DIR'] || '.'))
  const name = Object.hasOwn(all, directory) ? all[directory] : null
  return typeof name === 'string' ? name : null
}

/** Chooses the profile of a project; null for this machine. @param projectDir absolute */
export async function chooseProfile(
  projectDir: string,
  name: string | null,
  variables: Variables = processVariables(),
): Promise<void> {
  const file = fileOf(variables)
  const { [projectDir]: _, ...others } = readAll(variables)
  makeDirectory(dirname(file), 0o700)
  const draft = `${file}.${process.pid}`
  await writeFile(draft, `${JSON.stringify(name === null ? others : { ...others, [projectDir]: name }, null, 2)}\n`)
  await rename(draft, file)
}
