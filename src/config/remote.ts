import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { safeParse } from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'
import { printable } from '../lib/printable.ts'
import { processVariables, type Variables } from './environment.ts'
import { loadConfig, type ConfigFlags } from './load.ts'
import { publicUrl } from './values.ts'

/** What the command line says about where operations run. */
export interface RemoteFlags {
  server?: string | undefined
  profile?: string | undefined
}

/** A daemon that operations run on instead of this machine. */
export interface RemoteTarget {
  /** How the operator calls it: the profile's name, else its URL. */
  name: string
  /** Without a slash at its end; it may have a path. */
  server: string
  clientId: string
  clientSecret: string
}

/**
 * The daemon that the operator means, null where this machine is meant. `--server`, else `--profile`, else PAGECACHE_SERVER, else
 * PAGECACHE_PROFILE; a secret is never taken from the command line, where every user of the machine can read it.
 *
 * @throws CONFIG_INVALID where something of it is missing or wrong; USAGE where flags name this machine as well
 */
export async function findRemote(
  flags: RemoteFlags,
  config: ConfigFlags,
  variables: Variables = processVariables(),
): Promise<RemoteTarget | null> {
  const server = flags.server ?? (flags.profile === undefined ? variables['PAGECACHE_SERVER'] || undefined : undefined)
  if (server !== undefined) {
    assertElsewhere(flags.server === undefined ? 'PAGECACHE_SERVER' : '--server', {
      '--env': config.env,
      '--project-dir': config.projectDir,
      '--config': config.config,
    })
    return fromVariables(server, variables)
  }
  const profile = flags.profile ?? (variables['PAGECACHE_PROFILE'] || undefined)
  if (profile === undefined) return null
  // Profiles are read from a file of this machine, which --project-dir and --config name.
  assertElsewhere(flags.profile === undefined ? 'PAGECACHE_PROFILE' : '--profile', { '--env': config.env })
  return fromProfile(profile, config, variables)
}

/**
 * Throws USAGE where a flag names a place on this machine although the command runs on a daemon: an operator who typed --env staging
 * means staging. Variables describe the surroundings and contradict nothing.
 */
function assertElsewhere(remote: string, local: Readonly<Record<string, string | undefined>>): void {
  const typed = Object.keys(local).filter((flag) => local[flag] !== undefined)
  if (typed.length === 0) return
  throw new PagecacheError(
    'USAGE',
    `${typed.join(' and ')} cannot be combined with ${remote}: the daemon has its own environment and configuration.`,
    {
      hint: remote.startsWith('--')
        ? `Leave out ${typed.join(' and ')}, or ${remote}.`
        : `Leave out ${typed.join(' and ')}, or unset ${remote}.`,
    },
  )
}

function fromVariables(server: string, variables: Variables): RemoteTarget {
  const parsed = safeParse(publicUrl(), server)
  if (!parsed.success) {
    throw new PagecacheError(
      'CONFIG_INVALID',
      `${printable(server.replace(/\/\/[^/]*@/, '//***@'))} is no address of a daemon.`,
      {
        hint: 'Give a URL such as https://cache.example:8080, without user, query and fragment.',
      },
    )
  }
  const clientId = variables['PAGECACHE_CLIENT_ID'] ?? ''
  const clientSecret = variables['PAGECACHE_CLIENT_SECRET'] ?? ''
  if (clientId === '' || clientSecret === '') {
    const missing = [clientId === '' && 'PAGECACHE_CLIENT_ID', clientSecret === '' && 'PAGECACHE_CLIENT_SECRET']
      .filter(Boolean)
      .join(' and ')
    throw new PagecacheError('CONFIG_INVALID', `${parsed.data} asks for a client: ${missing} not set.`, {
      hint: "pagecache client:create on the daemon's machine makes one. A profile of pagecache.yaml (--profile) can hold it instead.",
    })
  }
  return { name: parsed.data, server: parsed.data, clientId, clientSecret }
}

async function fromProfile(name: string, flags: ConfigFlags, variables: Variables): Promise<RemoteTarget> {
  const { config, places } = await loadConfig(flags, { variables })
  const profile = Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined
  if (profile === undefined) {
    const names = Object.keys(config.profiles)
    const guess = closest(name, names)
    throw new PagecacheError('CONFIG_INVALID', `There is no profile ${printable(name)}.`, {
      hint:
        guess !== null
          ? `Did you mean ${guess}?`
          : names.length > 0
            ? `There are: ${names.join(', ')}.`
            : 'Name it under profiles in pagecache.yaml.',
    })
  }
  const { server, clientId, clientSecretFile } = profile
  return { name, server, clientId, clientSecret: await readSecret(resolve(places.projectDir, clientSecretFile), name) }
}

async function readSecret(file: string, profile: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new PagecacheError(
      'CONFIG_INVALID',
      `profiles.${profile}.clientSecretFile cannot be read: ${(error as Error).message}`,
      { cause: error },
    )
  })
  const secret = text.trim()
  // The content is not shown: it may be a secret that was pasted with something else.
  if (!/^[\x21-\x7e]{1,200}$/.test(secret))
    throw new PagecacheError(
      'CONFIG_INVALID',
      `profiles.${profile}.clientSecretFile holds no secret: one line of visible characters is expected.`,
    )
  return secret
}
