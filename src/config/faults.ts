import type * as z from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'
import { maskUrls, printable } from '../lib/safe-text.ts'
import { trimEndingSlashes } from '../lib/url.ts'
import { knownKeys } from './keys.ts'
import { isGroup, isSecret, valueAt, writeKeyPath, writeSource, type KeyPath, type Source } from './raw.ts'

/** An error in the configuration. */
export interface Fault {
  /** Key path; empty for the whole file. */
  key: string
  source: Source
  message: string
}

/** Converts validation issues to faults, with the value found and what was expected. */
export function toFaults(error: z.core.$ZodError, tree: unknown, sourceOf: (path: KeyPath) => Source): Fault[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.filter((part) => typeof part !== 'symbol')
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => unknownKey([...path, key], sourceOf([...path, key])))
    }
    // A missing key has no source, so its section or list item is named.
    const existing = valueAt(tree, path) === undefined ? path.slice(0, -1) : path
    return [wrongValue(issue, path, tree, sourceOf(existing))]
  })
}

/** Finds sales channels with the same id or URL, reverse proxies with the same name or URL, and webhooks with the same name. */
export function findDuplicates(tree: unknown, sourceOf: (path: KeyPath) => Source): Fault[] {
  const unique = [
    [['salesChannels'], 'id'],
    [['salesChannels'], 'url'],
    [['reverseProxies'], 'name'],
    [['reverseProxies'], 'url'],
    [['notify', 'webhooks'], 'name'],
  ] as const
  return unique.flatMap(([list, key]) => {
    const items = valueAt(tree, list)
    const values = Array.isArray(items) ? items.map((item) => comparable(key, valueAt(item, [key]))) : []
    return values.flatMap((value, index) => {
      const first = values.indexOf(value)
      if (value === undefined || first === index) return []
      const path = [...list, index, key]
      const message = `${show(path, valueAt(tree, path))} is also the value of ${writeKeyPath([...list, first, key])}; it must be unique`
      return [{ key: writeKeyPath(path), source: sourceOf(path), message }]
    })
  })
}

const generalHint = 'All keys: pagecache help configuration, or docs/configuration.md.'

/** Combines all faults into one error, one line each. */
export function toConfigError(faults: readonly Fault[], hint = generalHint): PagecacheError {
  const lines = faults.map(
    ({ key, source, message }) => `  ${[key, `(${writeSource(source)}):`].filter(Boolean).join(' ')} ${message}`,
  )
  const head =
    faults.length === 1 ? 'The configuration has an error:' : `The configuration has ${faults.length} errors:`
  return new PagecacheError('CONFIG_INVALID', [head, ...lines].join('\n'), { hint })
}

function unknownKey(path: KeyPath, source: Source): Fault {
  const name = String(path.at(-1))
  const keys = knownKeys(path.slice(0, -1))
  const guess = closest(name, keys)
  const advice = guess ? `did you mean ${guess}?` : `known keys: ${keys.join(', ')}`
  return { key: printable(writeKeyPath(path)), source, message: `unknown key; ${advice}` }
}

function wrongValue(issue: z.core.$ZodIssue, path: KeyPath, tree: unknown, source: Source): Fault {
  const value = valueAt(tree, path)
  const found = value === undefined ? 'is missing' : `${show(path, value)} is not valid`
  return { key: printable(writeKeyPath(path)), source, message: `${found}; expected ${expectation(issue)}` }
}

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return issue.expected === 'array' ? 'a list' : 'keys and values'
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? issue.message
  return issue.message
}

/** Formats a value: shortened, without secrets and control characters. */
function show(path: KeyPath, value: unknown): string {
  if (isSecret(path)) return '***'
  if (isGroup(value)) return 'a group of keys'
  const text = Array.isArray(value) ? 'a list' : printable(maskUrls(JSON.stringify(value)))
  return text.length > 100 ? `${text.slice(0, 97)}...` : text
}

/** Normalises an id (dashes) or a URL (trailing slash) for comparison. */
function comparable(key: string, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  return key === 'id' ? value.toLowerCase().replaceAll('-', '') : trimEndingSlashes(value.toLowerCase())
}
