import { parse } from 'zod/mini'
import { describeConfig } from './describe.ts'
import { variablePaths } from './keys.ts'
import { configSchema } from './schema.ts'

/** A key of the configuration, its default, and its environment variable; null where it has none. */
export interface DescribedKey {
  key: string
  default: unknown
  variable: string | null
}

/** Lists all keys in the order of the schema. */
export function describeKeys(): DescribedKey[] {
  const config = parse(configSchema, {})
  const loaded = { config, sourceOf: () => ({ kind: 'default' as const }) }
  const variables = new Map([...variablePaths()].map(([name, path]) => [path.join('.'), name]))
  return describeConfig(loaded).map(({ key, value }) => ({ key, default: value, variable: variables.get(key) ?? null }))
}
