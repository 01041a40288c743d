import { describeKeys, type DescribedKey } from '../src/config/describe-keys.ts'

interface ManifestFlag {
  type: 'boolean' | 'option'
  summary?: string
  description?: string
  default?: unknown
  options?: string[]
  required?: boolean
  multiple?: boolean
  char?: string
  env?: string
  helpValue?: string
  helpGroup?: string
}

interface ManifestArgument {
  description?: string
  default?: unknown
  options?: string[]
  required?: boolean
}

/** The part of oclif.manifest.json that is used here. */
export interface Manifest {
  commands: Record<
    string,
    {
      summary?: string
      description?: string
      examples?: { description: string; command: string }[]
      exitCodes?: number[]
      flags: Record<string, ManifestFlag>
      args: Record<string, ManifestArgument>
    }
  >
}

/** The stable surface of each command. Texts are omitted, because prose may change. */
export function commandSurface(manifest: Manifest): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(manifest.commands).map(([id, { flags, args, exitCodes }]) => [
      id,
      { args: pick(args, ['required', 'options', 'default']), flags: pick(flags, flagProperties), exitCodes },
    ]),
  )
}

const flagProperties = ['type', 'char', 'env', 'required', 'multiple', 'options', 'default'] as const

/** All configuration keys with their defaults and environment variables. */
export function configurationSurface(): Record<string, Omit<DescribedKey, 'key'>> {
  return Object.fromEntries(describeKeys().map(({ key, ...rest }) => [key, rest]))
}

/** Picks properties of each entry, sorted by key, without unset ones. */
function pick<T extends object>(entries: Record<string, T>, names: readonly (keyof T)[]): Record<string, Partial<T>> {
  return Object.fromEntries(
    Object.entries(entries)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, entry]) => {
        const set = names.filter((name) => entry[name] !== undefined && entry[name] !== false)
        return [key, Object.fromEntries(set.map((name) => [name, entry[name]])) as Partial<T>]
      }),
  )
}
