import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { safeParse } from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'
import { printable } from '../lib/safe-text.ts'
import { chosenProfile } from './chosen-profile.ts'
import { processVariables, type Variables } from './environment.ts'
import { loadConfig, type ConfigFlags } from './load.ts'
import { publicUrl } from './values.ts'

/** Flags that select a daemon. */
export interface RemoteFlags {
  server?: string | undefined
  profile?: string | undefined
}

/** A daemon to run operations on. */
export interface RemoteTarget {
  /** Name of the profile, or the URL. */
  name: string
  /** URL without a trailing slash; it may have a path. */
  server: string
  clientId: string
  clientSecret: string
  /** Whether neither a flag nor a variable selects it, but `profile:use`. */
  chosen: boolean
}

/** Names a daemon for people: the profile with its URL, or the URL. */
export function describeTarget({ name, server }: RemoteTarget): string {
  return name === server ? server : `${name} (${server})`
}

/**
 * Finds the selected daemon; null for this machine. Precedence: `--server`, `--profile`, PAGECACHE_SERVER, PAGECACHE_PROFILE, the
 * profile chosen with profile:use, which commands that run on this machine only (`here`) ignore. There is no flag for the secret, because other users of the machine can read command lines.
 *
 * @throws CONFIG_INVALID for incomplete or invalid settings, USAGE if flags select a local environment too
 */
export async function findRemote(
  flags: RemoteFlags,
  config: ConfigFlags,
  { here = false, variables = processVariables() }: { here?: boolean; variables?: Variables } = {},
): Promise<RemoteTarget | null> {
  const server = flags.server ?? (flags.profile === undefined ? variables['PAGECACHE_SERVER'] || undefined : undefined)
  if (server !== undefined) {
    assertNotLocal(flags.server === undefined ? 'PAGECACHE_SERVER' : '--server', {
      '--env': config.env,
      '--project-dir': config.projectDir,
      '--config': config.config,
    })
    return fromVariables(server, variables)
  }
  const named = flags.profile ?? (variables['PAGECACHE_PROFILE'] || undefined)
  const profile = named ?? (here ? null : chosenProfile(config.projectDir, variables))
  if (profile === null) return null
  const selector = flags.profile !== undefined ? '--profile' : named !== undefined ? 'PAGECACHE_PROFILE' : 'profile:use'
  // Profiles are read from the local file that --project-dir and --config select.
  assertNotLocal(selector, { '--env': config.env })
  return { ...(await fromProfile(profile, config, variables)), chosen: named === undefined }
}

/** @throws USAGE where a daemon was selected for a command that runs on this machine only */
export function assertLocal(target: RemoteTarget | null, command: string): void {
  if (target === null) return
  throw new PagecacheError('USAGE', `${command} runs on this machine only, but ${target.name} was selected.`, {
    hint: 'Remove --server and --profile, and unset PAGECACHE_SERVER and PAGECACHE_PROFILE.',
  })
}

/**
 * Rejects flags that select a local environment for a command on a daemon: --env staging would be ignored. Environment variables are
 * allowed, because they are not typed for this command. @throws USAGE
 */
function assertNotLocal(remote: string, local: Readonly<Record<string, string | undefined>>): void {
  const typed = Object.keys(local).filter((flag) => local[flag] !== undefined)
  if (typed.length === 0) return
  throw new PagecacheError(
    'USAGE',
    `${typed.join(' and ')} cannot be combined with ${remote}: the daemon has its own environment and configuration.`,
    {
      hint: `Remove ${typed.join(' and ')}, or ${wayBack(remote)}.`,
    },
  )
}

function wayBack(remote: string): string {
  if (remote === 'profile:use') return 'run pagecache profile:use --here'
  return remote.startsWith('--') ? remote : `unset ${remote}`
}

function fromVariables(server: string, variables: Variables): RemoteTarget {
  const parsed = safeParse(publicUrl(), server)
  if (!parsed.success) {
    throw new PagecacheError(
      'CONFIG_INVALID',
      `${printable(server.replace(/\/\/[^/]*@/, '//***@'))} is not the URL of a daemon.`,
      {
        hint: 'Use a URL such as https://cache.example:8080, without user, query and fragment.',
      },
    )
  }
  const clientId = variables['PAGECACHE_CLIENT_ID'] ?? ''
  const clientSecret = variables['PAGECACHE_CLIENT_SECRET'] ?? ''
  if (clientId === '' || clientSecret === '') {
    const missing = [clientId === '' && 'PAGECACHE_CLIENT_ID', clientSecret === '' && 'PAGECACHE_CLIENT_SECRET']
      .filter(Boolean)
      .join(' and ')
    throw new PagecacheError('CONFIG_INVALID', `${parsed.data} requires an API client. Not set: ${missing}.`, {
      hint: "Create one on the daemon's machine with pagecache client:create. Alternatively, define a profile in pagecache.yaml and use --profile.",
    })
  }
  return { name: parsed.data, server: parsed.data, clientId, clientSecret, chosen: false }
}

async function fromProfile(
  name: string,
  flags: ConfigFlags,
  variables: Variables,
): Promise<Omit<RemoteTarget, 'chosen'>> {
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
            ? `Profiles: ${names.join(', ')}.`
            : 'Define it under profiles in pagecache.yaml.',
    })
  }
  const { server, clientId, clientSecretFile } = profile
  return { name, server, clientId, clientSecret: await readSecret(resolve(places.projectDir, clientSecretFile), name) }
}

async function readSecret(file: string, profile: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new PagecacheError(
      'CONFIG_INVALID',
      `Could not read profiles.${profile}.clientSecretFile: ${(error as Error).message}`,
      { cause: error },
    )
  })
  const secret = text.trim()
  // The content is not shown, because it may contain the secret.
  if (!/^[\x21-\x7e]{1,200}$/.test(secret))
    throw new PagecacheError(
      'CONFIG_INVALID',
      `profiles.${profile}.clientSecretFile has no secret: expected one line of printable characters.`,
    )
  return secret
}
