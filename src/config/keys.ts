import { z } from 'zod'
import { closest } from '../lib/closest.ts'
import type { Variables } from './environment.ts'
import { isGroup, type KeyPath } from './raw.ts'
import { configSchema } from './schema.ts'
import { valueKinds, type ValueKind } from './values.ts'

/** Which names may stand at a path of the configuration; empty where anything or nothing may. */
export function knownKeys(path: KeyPath): string[] {
  const schema = schemaAt(path)
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}

/** What a value at a path is measured in, so that it can be written as it would be in the file. */
export function kindAt(path: KeyPath): ValueKind {
  let schema: z.core.$ZodType | undefined = configSchema
  for (const part of path) schema = step(schema, part)
  while (schema) {
    const kind = valueKinds.get(schema)?.kind
    if (kind) return kind
    schema = inner(schema)
  }
  return 'plain'
}

/** `PAGECACHE_CACHE_MAX_SIZE` → `['cache', 'maxSize']` for every value of a section that is no list and no group. */
export function variablePaths(): Map<string, [string, string]> {
  const paths = new Map<string, [string, string]>()
  for (const section of Object.keys(configSchema.shape)) {
    for (const key of knownKeys([section])) {
      if (isScalar(schemaAt([section, key]))) paths.set(variableName(section, key), [section, key])
    }
  }
  return paths
}

function variableName(...path: string[]): string {
  return ['PAGECACHE', ...path.map((part) => part.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase())].join('_')
}

/** Settings of the process that are no values of the configuration. */
const otherVariables = ['ENV', 'PROJECT_DIR', 'CONFIG', 'SERVER', 'CLIENT_ID', 'CLIENT_SECRET'].map((name) => `PAGECACHE_${name}`)

/** Variables that look like settings of ours and are none, each with what was probably meant. */
export function unknownVariables(variables: Variables): { name: string; guess: string | null }[] {
  const known = new Set([...variablePaths().keys(), ...otherVariables])
  return Object.keys(variables)
    .filter((name) => name.startsWith('PAGECACHE_') && !known.has(name))
    .map((name) => ({ name, guess: closest(name, known) }))
}

/** Every value of a parsed configuration by its path; empty lists and groups count as values. */
export function leaves(value: unknown, path: KeyPath = []): { path: KeyPath; value: unknown }[] {
  if (Array.isArray(value) && value.some((item) => isGroup(item))) {
    return value.flatMap((item, index) => leaves(item, [...path, index]))
  }
  if (isGroup(value) && (path.length === 0 || Object.keys(value).length > 0)) {
    return Object.entries(value).flatMap(([key, child]) => leaves(child, [...path, key]))
  }
  return [{ path, value }]
}

function schemaAt(path: KeyPath): z.core.$ZodType | undefined {
  let schema: z.core.$ZodType | undefined = configSchema
  for (const part of path) schema = step(schema, part)
  return unwrap(schema)
}

function step(schema: z.core.$ZodType | undefined, part: string | number): z.core.$ZodType | undefined {
  const bare = unwrap(schema)
  if (bare instanceof z.ZodArray) return bare.element
  return bare instanceof z.ZodObject && Object.hasOwn(bare.shape, part) ? bare.shape[part] : undefined
}

function isScalar(schema: z.core.$ZodType | undefined): boolean {
  return schema !== undefined && !(schema instanceof z.ZodArray) && !(schema instanceof z.ZodObject)
}

function unwrap(schema: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  let bare = schema
  while (bare && inner(bare)) bare = inner(bare)
  return bare
}

function inner(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  return schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional ? schema.def.innerType : undefined
}
