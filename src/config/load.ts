import { isAbsolute, join, relative, resolve } from 'node:path'
import { config as configureZod, parse, safeParse } from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import { findConflicts } from './conflicts.ts'
import { processVariables, type Variables } from './environment.ts'
import { findDuplicates, toConfigError, toFaults, type Fault } from './faults.ts'
import { readConfigFile, type ConfigFile } from './file.ts'
import { variablePaths, withoutEmptySections } from './keys.ts'
import { isPreset, withPreset } from './presets.ts'
import { findProjectDirectory, showPath } from './project-directory.ts'
import { writeKeyPath, withValue, type KeyPath, type Source } from './raw.ts'
import { configSchema, type Config } from './schema.ts'

// A validator runs once per process, so compiling it does not pay off.
configureZod({ jitless: true })

/** Flags that were given, without defaults. */
export interface ConfigFlags {
  env?: string | undefined
  projectDir?: string | undefined
  config?: string | undefined
  /** Configuration values set by a command's own flags, with the name of the flag. */
  values?: readonly { path: readonly [string, ...string[]]; value: unknown; flag: string }[]
}

/** Absolute paths of an environment. */
interface EnvironmentPaths {
  projectDir: string
  /** Path of the configuration file, which may not exist. */
  configFile: string
  /** Application cache with the pages; may be deleted at any time. */
  cacheDir: string
  /** State that must not be lost. */
  dataDir: string
}

/** The effective configuration, with the source of each value. */
export interface LoadedConfig {
  environment: string
  places: EnvironmentPaths
  /** Path of the configuration file; null if it does not exist. */
  file: string | null
  config: Config
  /** Error of an invalid configuration that was tolerated; `config` then has the defaults. */
  fault: PagecacheError | null
  sourceOf(path: KeyPath): Source
  /** Content of the key file of `stages.customerToken`, once it was read. */
  customerKey?: string
  /** Content of `errorPage`, once it was read. */
  errorPage?: string
}

/** Environment to load from; tests pass their own. */
export interface Surroundings {
  variables?: Variables
  cwd?: string
  /** Use the defaults if the configuration is invalid, for commands that help to repair it. */
  tolerateFaults?: boolean
}

/**
 * Loads the configuration of an environment. Precedence: flag, environment variable, file, default.
 *
 * @throws CONFIG_INVALID listing every error
 */
export async function loadConfig(flags: ConfigFlags, surroundings: Surroundings = {}): Promise<LoadedConfig> {
  const variables = surroundings.variables ?? processVariables()
  const { environment, places, ...located } = await locate(flags, variables, surroundings.cwd ?? process.cwd())
  try {
    const file = await readConfigFile(places.configFile, located.label)
    if (!file && located.required) {
      throw new PagecacheError('CONFIG_INVALID', `There is no configuration file ${located.label}.`, {
        hint: 'Create one with: pagecache init',
      })
    }
    const layers = applyLayers(file, flags, variables, located.label)
    const config = validate(layers, file)
    return {
      environment,
      places,
      file: file ? places.configFile : null,
      config,
      fault: null,
      sourceOf: layers.sourceOf,
    }
  } catch (error) {
    if (!surroundings.tolerateFaults || !(error instanceof PagecacheError)) throw error
    const sourceOf = (): Source => ({ kind: 'default' })
    return { environment, places, file: places.configFile, config: parse(configSchema, {}), fault: error, sourceOf }
  }
}

/** Determines the environment and its paths without reading the file. @throws CONFIG_INVALID for an invalid name or directory */
async function locate(flags: ConfigFlags, variables: Variables, cwd: string) {
  const environment = flags.env ?? nonEmpty(variables['PAGECACHE_ENV']) ?? nonEmpty(variables['APP_ENV']) ?? 'prod'
  // The name becomes a directory, which must not lead out of var/.
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(environment)) {
    throw new PagecacheError('CONFIG_INVALID', `"${showPath(environment)}" is not a valid environment name.`, {
      hint: 'Use at most 64 letters, digits, - and _, such as prod or staging-2.',
    })
  }
  const projectDir = findProjectDirectory(flags.projectDir ?? nonEmpty(variables['PAGECACHE_PROJECT_DIR']), cwd)
  if (flags.config === '')
    throw new PagecacheError('CONFIG_INVALID', '--config is empty.', {
      hint: 'Name a file, or omit the flag to use pagecache.yaml in the project directory.',
    })
  const named = flags.config ?? nonEmpty(variables['PAGECACHE_CONFIG'])
  const configFile = named === undefined ? join(projectDir, 'pagecache.yaml') : resolve(cwd, named)
  const fromProject = relative(projectDir, configFile)
  const label = showPath(
    fromProject === '' || fromProject.startsWith('..') || isAbsolute(fromProject) ? configFile : fromProject,
  )
  const places = {
    projectDir,
    configFile,
    cacheDir: join(projectDir, 'var', 'cache', environment),
    dataDir: join(projectDir, 'var', 'data', environment),
  }
  return { environment, places, label, required: named !== undefined }
}

interface Layers {
  values: Record<string, unknown>
  sourceOf(path: KeyPath): Source
}

function applyLayers(file: ConfigFile | null, flags: ConfigFlags, variables: Variables, label: string): Layers {
  const overrides = new Map<string, Source>()
  let values = withoutEmptySections(file?.values ?? {})
  for (const [name, path] of hasOwnVariable(variables) ? variablePaths() : []) {
    const text = nonEmpty(variables[name])
    if (text === undefined) continue
    values = withValue(values, path, toScalar(text))
    overrides.set(writeKeyPath(path), { kind: 'variable', name })
  }
  for (const { path, value, flag } of flags.values ?? []) {
    values = withValue(values, path, value)
    overrides.set(writeKeyPath(path), { kind: 'flag', name: flag })
  }
  const sourceOf = (path: KeyPath): Source => findSource(path, overrides, file, label)
  return {
    values,
    sourceOf: (path) => {
      const source = sourceOf(path)
      return source.kind === 'default' && isPreset(values['shop'], path) ? sourceOf(['shop']) : source
    },
  }
}

function findSource(path: KeyPath, overrides: Map<string, Source>, file: ConfigFile | null, label: string): Source {
  for (let length = path.length; length > 0; length -= 1) {
    const override = overrides.get(writeKeyPath(path.slice(0, length)))
    if (override) return override
  }
  return file?.has(path) ? { kind: 'file', file: label, line: file.lineOf(path) } : { kind: 'default' }
}

function validate(layers: Layers, file: ConfigFile | null): Config {
  const parsed = safeParse(configSchema, withPreset(layers.values))
  const faults: Fault[] = [
    ...(file?.faults ?? []),
    ...(parsed.success ? [] : toFaults(parsed.error, layers.values, layers.sourceOf)),
    ...findDuplicates(layers.values, layers.sourceOf),
    ...(parsed.success ? findConflicts(parsed.data, layers.sourceOf) : []),
  ]
  if (parsed.success && faults.length === 0) return parsed.data
  throw toConfigError(faults)
}

/** Whether any variable may be a setting. Naming those of all settings takes longer than reading the file. */
function hasOwnVariable(variables: Variables): boolean {
  return Object.keys(variables).some((name) => name.startsWith('PAGECACHE_'))
}

/** Converts a variable's text as YAML would: numbers, booleans and null. */
function toScalar(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  if (text === 'null') return null
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text
}

/** An empty variable counts as unset, as in shells and process managers. */
function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
