import type * as z from 'zod/mini'
import { closest } from '../lib/closest.ts'
import type { Variables } from './environment.ts'
import { isGroup, type KeyPath } from './raw.ts'
import { configSchema } from './schema.ts'
import { valueKinds, type ValueKind } from './value.ts'

/** The keys allowed at a path; empty unless it is a section. */
export function knownKeys(path: KeyPath): string[] {
  const schema = schemaAt(path)
  return isSection(schema) ? Object.keys(schema._zod.def.shape) : []
}

/** The unit of the value at a path, for formatting it as in the file. */
export function kindAt(path: KeyPath): ValueKind {
  let schema: Schema | undefined = configSchema
  for (const part of path) schema = step(schema, part)
  while (schema) {
    const kind = valueKinds.get(schema)?.kind
    if (kind) return kind
    schema = inner(schema)
  }
  return 'plain'
}

/** Environment variables and their paths, for scalar values: `PAGECACHE_CACHE_MAX_SIZE` → `['cache', 'maxSize']`. */
export function variablePaths(section: readonly string[] = []): Map<string, string[]> {
  const paths = new Map<string, string[]>()
  for (const key of knownKeys(section)) {
    const path = [...section, key]
    if (isScalar(schemaAt(path))) paths.set(variableName(...path), path)
    for (const [name, inner] of variablePaths(path)) paths.set(name, inner)
  }
  return paths
}

function variableName(...path: string[]): string {
  return ['PAGECACHE', ...path.map((part) => part.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase())].join(
    '_',
  )
}

/** Environment variables that are not values of the configuration. */
const otherVariables = ['ENV', 'PROJECT_DIR', 'CONFIG', 'PROFILE', 'SERVER', 'CLIENT_ID', 'CLIENT_SECRET'].map(
  (name) => `PAGECACHE_${name}`,
)

/** Finds PAGECACHE_ variables that are not settings, with a guess at what was meant. */
export function unknownVariables(variables: Variables): { name: string; guess: string | null }[] {
  const known = new Set([...variablePaths().keys(), ...otherVariables])
  return Object.keys(variables)
    .filter((name) => name.startsWith('PAGECACHE_') && !known.has(name))
    .map((name) => ({ name, guess: closest(name, known) }))
}

/** All values of a parsed configuration with their paths; empty lists and objects count as values. */
export function leaves(value: unknown, path: KeyPath = []): { path: KeyPath; value: unknown }[] {
  if (Array.isArray(value) && value.some((item) => isGroup(item))) {
    return value.flatMap((item, index) => leaves(item, [...path, index]))
  }
  if (isGroup(value) && (path.length === 0 || Object.keys(value).length > 0)) {
    return Object.entries(value).flatMap(([key, child]) => leaves(child, [...path, key]))
  }
  return [{ path, value }]
}

/** Removes sections and lists whose content is commented out, which YAML parses as null. */
export function withoutEmptySections(tree: Record<string, unknown>, path: KeyPath = []): Record<string, unknown> {
  const entries = Object.entries(tree).flatMap(([key, value]): [string, unknown][] => {
    const schema = schemaAt([...path, key])
    if (value === null && (isSection(schema) || isList(schema))) return []
    return [[key, isGroup(value) ? withoutEmptySections(value, [...path, key]) : value]]
  })
  return Object.fromEntries(entries)
}

type Schema = z.core.$ZodType

function schemaAt(path: KeyPath): Schema | undefined {
  let schema: Schema | undefined = configSchema
  for (const part of path) schema = step(schema, part)
  return unwrap(schema)
}

function step(schema: Schema | undefined, part: string | number): Schema | undefined {
  const bare = unwrap(schema)
  if (isList(bare)) return bare._zod.def.element
  if (isRecord(bare)) return bare._zod.def.valueType
  return isSection(bare) && Object.hasOwn(bare._zod.def.shape, part) ? bare._zod.def.shape[part] : undefined
}

function isList(schema: Schema | undefined): schema is z.core.$ZodArray {
  return schema?._zod.def.type === 'array'
}

/** A group whose keys are names that the operator chose. */
function isRecord(schema: Schema | undefined): schema is z.core.$ZodRecord {
  return schema?._zod.def.type === 'record'
}

function isSection(schema: Schema | undefined): schema is z.core.$ZodObject {
  return schema?._zod.def.type === 'object'
}

function isScalar(schema: Schema | undefined): boolean {
  return schema !== undefined && !isList(schema) && !isSection(schema) && !isRecord(schema)
}

function unwrap(schema: Schema | undefined): Schema | undefined {
  let bare = schema
  for (let next = bare && inner(bare); next; next = inner(next)) bare = next
  return bare
}

function inner(schema: Schema): Schema | undefined {
  const { type } = schema._zod.def
  return type === 'prefault' || type === 'optional'
    ? (schema as z.core.$ZodOptional | z.core.$ZodPrefault)._zod.def.innerType
    : undefined
}
