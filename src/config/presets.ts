import { isGroup, valueAt, type KeyPath } from './raw.ts'

/** The kinds of shop that have defaults of their own. */
export const shops = ['plain', 'shopware'] as const
export type Shop = (typeof shops)[number]

/** The defaults of each kind of shop, as in the file, where they differ from those of the schema. */
const presets: Readonly<Record<Shop, Readonly<Record<string, unknown>>>> = {
  plain: {},
  shopware: {
    cache: {
      esi: 'auto',
      grace: '3d',
      emptyPaths: ['/widgets/checkout/info'],
      assets: ['/media', '/thumbnail', '/theme', '/bundles'],
      variants: { cookies: ['sw-cache-hash | sw-currency'] },
      ignoreQuery: ['shopware'],
      browser: 'no-store',
    },
  },
}

/** A default of `cache` for a kind of shop, written as in the file. @param plain the default of the schema */
export function writeCacheDefault(shop: Shop, key: string, plain: string): string {
  const value = valueAt(presets[shop], ['cache', ...key.split('.')])
  if (value === undefined) return plain
  return Array.isArray(value) ? `[${value.join(', ')}]` : String(value)
}

/** Whether the default at a path is that of a kind of shop. */
export function isPreset(shop: unknown, path: KeyPath): boolean {
  const name = shops.find((each) => each === shop)
  return name !== undefined && valueAt(presets[name], path) !== undefined
}

/** Adds the defaults of the configured kind of shop to the values of the file, the variables and the flags, which take precedence. */
export function withPreset(values: Record<string, unknown>): Record<string, unknown> {
  const shop = shops.find((name) => name === values['shop'])
  return shop === undefined ? values : beneath(values, presets[shop])
}

function beneath(
  values: Readonly<Record<string, unknown>>,
  defaults: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const merged = { ...values }
  for (const [key, initial] of Object.entries(defaults)) {
    const given = values[key]
    if (!Object.hasOwn(values, key)) merged[key] = initial
    else if (isGroup(given) && isGroup(initial)) merged[key] = beneath(given, initial)
  }
  return merged
}
