import { PagecacheError } from '../errors.ts'
import type { PageType } from '../pages/page.ts'
import { entityOf, tagsOf, type Entity } from './entities.ts'
import type { Target } from './invalidation.ts'

/**
 * One key, purged here and at each reverse proxy: a row of the purge log. `softened`: the purge budget made its purge soft
 * (src/purge/budget.ts).
 */
export type PurgeKey =
  | { kind: 'all'; value?: 'application-cache' }
  | { kind: 'type'; type: PageType }
  | { kind: 'url'; url: string }
  | { kind: 'tag'; tag: string; entity: Entity | null; softened?: true }
  | { kind: 'entity'; tag: string; entity: Entity; number: string | null; softened?: true }
  | { kind: 'pattern'; pattern: string }

/** Most keys of one invalidation: beyond that, clearing everything is cheaper. */
const maxKeys = 200_000

/** A tag: it contains no separator of a header line. */
export const tagPattern = /^[^\s,\u0000-\u001f\u007f]{1,1024}$/

/**
 * The distinct keys of an invalidation. A tag that is given both by name and through an entity counts as the entity's, which carries
 * more data. @throws INVALID_INPUT for an invalid tag, and for more than `maxKeys` keys
 */
export function toKeys(targets: readonly Target[]): PurgeKey[] {
  const keys = new Map<string, PurgeKey>()
  for (const target of targets) {
    for (const key of keysOf(target)) {
      const name = nameOf(key)
      if (!keys.has(name) || key.kind === 'entity') keys.set(name, key)
    }
  }
  if (keys.size > maxKeys) {
    throw new PagecacheError(
      'INVALID_INPUT',
      `One request can purge at most ${maxKeys} tags and URLs, not ${keys.size}`,
      { hint: 'Clear everything instead.' },
    )
  }
  return [...keys.values()]
}

function keysOf(target: Target): PurgeKey[] {
  switch (target.scope) {
    case 'all':
      return [target.value === undefined ? { kind: 'all' } : { kind: 'all', value: target.value }]
    case 'type':
      return [{ kind: 'type', type: target.type }]
    case 'urls':
      return target.urls.map((url) => ({ kind: 'url', url }))
    case 'tags':
      return target.tags.map((text, index) => ({ kind: 'tag', tag: assertTag(text, index), entity: entityOf(text) }))
    case 'entity': {
      const entity = { type: target.type, id: target.id }
      return tagsOf(entity).map((text) => ({ kind: 'entity', tag: text, entity, number: target.number }))
    }
    case 'pattern':
      return [{ kind: 'pattern', pattern: target.pattern }]
  }
}

function assertTag(text: string, index: number): string {
  if (!tagPattern.test(text)) {
    const shown = text === '' ? 'an empty string' : JSON.stringify(text.slice(0, 60))
    throw new PagecacheError('INVALID_INPUT', `tags[${index}]: ${shown} is not a tag`, {
      hint: 'A tag has 1 to 1024 characters and contains no whitespace, comma or control character.',
    })
  }
  return text
}

/** Whether the purge budget made the purge of a key soft. */
export function isSoftened(key: PurgeKey): boolean {
  return 'softened' in key
}

/** Identifies a key; a tag is the same key whether it was given by name or through an entity. */
function nameOf(key: PurgeKey): string {
  switch (key.kind) {
    case 'all':
      return 'all'
    case 'type':
      return `type ${key.type}`
    case 'url':
      return `url ${key.url}`
    case 'tag':
    case 'entity':
      return `tag ${key.tag}`
    case 'pattern':
      return `pattern ${key.pattern}`
  }
}

/** Most values that the log row of an invalidation names. */
const maxNamed = 20

/** The scope and the readable value of an invalidation; the value is null for all pages. */
export function describeTargets(targets: readonly Target[]): { scope: string; value: string | null } {
  const scopes = [...new Set(targets.map((target) => target.scope))]
  const values = targets.flatMap(valuesOf)
  const named = values.slice(0, maxNamed).join(' ')
  const more = values.length > maxNamed ? ` and ${values.length - maxNamed} more` : ''
  return { scope: scopes.length === 1 ? scopes[0]! : 'mixed', value: values.length === 0 ? null : named + more }
}

function valuesOf(target: Target): readonly string[] {
  switch (target.scope) {
    case 'all':
      return target.value === undefined ? [] : [target.value]
    case 'type':
      return [target.type]
    case 'urls':
      return target.urls
    case 'tags':
      return target.tags
    case 'entity':
      return [`${target.type}:${target.id}`]
    case 'pattern':
      return [target.pattern]
  }
}
