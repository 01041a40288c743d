import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Config, Plugin } from '@oclif/core/config'

/** What oclif needs to find a command. The build writes it; the whole manifest, with the texts of the help, is 25 times as long. */
const namesFile = new URL('../commands.json', import.meta.url)

/** Commands that describe all commands. */
const describing = new Set(['completion'])

interface Names {
  /** oclif's part of package.json. */
  pjson: Plugin['pjson']
  manifest: Plugin['manifest']
}

export interface OclifOptions {
  root: string
  ignoreManifest?: boolean
}

/**
 * Loads oclif's configuration with the names of the commands. Loads the manifest instead for help, completion and unknown commands, and
 * where the sources run without a build.
 *
 * @param words Finds the command and its arguments in the command line, given the known commands.
 */
export async function loadOclif(options: OclifOptions, words: (config: Config) => readonly string[]): Promise<Config> {
  if (options.ignoreManifest === true || !existsSync(namesFile)) return Config.load(options)
  const config = await loadNames(dirname(options.root))
  const [id = '', ...rest] = words(config)
  const isOrdinary = config.findCommand(id) && !describing.has(id) && !rest.includes('--help') && !rest.includes('-h')
  return isOrdinary ? config : Config.load({ ...options, userPlugins: false })
}

async function loadNames(root: string): Promise<Config> {
  const { pjson, manifest } = JSON.parse(readFileSync(namesFile, 'utf8')) as Names
  const plugin = new Plugin({ root, isRoot: true, type: 'core', pjson })
  Object.assign(plugin, { _manifest: async () => manifest })
  await plugin.load()
  return Config.load({ root, plugins: new Map([[plugin.name, plugin]]) })
}
