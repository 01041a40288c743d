import type * as z from 'zod/mini'
import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'
import { maskUrls } from '../lib/mask.ts'
import { printable } from '../lib/printable.ts'
import { trimEndingSlashes } from '../lib/trim-slashes.ts'
import { knownKeys } from './keys.ts'
import { isGroup, isSecret, valueAt, writeKeyPath, writeSource, type KeyPath, type Source } from './raw.ts'

/** One thing that is wrong with the configuration. */
export interface Fault {
  /** Key path; empty where the whole file is meant. */
  key: string
  source: Source
  message: string
}

/** The faults of a validation, each with the value and what would be right. */
export function toFaults(error: z.core.$ZodError, tree: unknown, sourceOf: (path: KeyPath) => Source): Fault[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.filter((part) => typeof part !== 'symbol')
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => unknownKey([...path, key], sourceOf([...path, key])))
    }
    // A missing key has no source of its own: what should have held it shows the operator where to look.
    const place = valueAt(tree, path) === undefined ? path.slice(0, -1) : path
    return [wrongValue(issue, path, tree, sourceOf(place))]
  })
}

/** What no single value shows: two sales channels with one id or URL, two reverse proxies with one name. */
export function findDuplicates(tree: unknown, sourceOf: (path: KeyPath) => Source): Fault[] {
  const unique = [
    ['salesChannels', 'id'],
    ['salesChannels', 'url'],
    ['reverseProxies', 'name'],
    ['reverseProxies', 'url'],
  ] as const
  return unique.flatMap(([list, key]) => {
    const items = valueAt(tree, [list])
    const values = Array.isArray(items) ? items.map((item) => comparable(key, valueAt(item, [key]))) : []
    return values.flatMap((value, index) => {
      const first = values.indexOf(value)
      if (value === undefined || first === index) return []
      const path = [list, index, key]
      const message = `${show(path, valueAt(tree, path))} is already ${writeKeyPath([list, first, key])}; each needs its own`
      return [{ key: writeKeyPath(path), source: sourceOf(path), message }]
    })
  })
}

const usualHint = 'Every key is described in docs/configuration.md; pagecache config:show prints what is in effect.'

/** All faults as one error: exit code 2, one line each. `hint`: what to do, where it is known better than in general. */
export function toConfigError(faults: readonly Fault[], hint = usualHint): PagecacheError {
  const lines = faults.map(
    ({ key, source, message }) => `  ${[key, `(${writeSource(source)}):`].filter(Boolean).join(' ')} ${message}`,
  )
  const head = faults.length === 1 ? 'The configuration has a fault:' : `The configuration has ${faults.length} faults:`
  return new PagecacheError('CONFIG_INVALID', [head, ...lines].join('\n'), { hint })
}

function unknownKey(path: KeyPath, source: Source): Fault {
  const name = String(path.at(-1))
  const keys = knownKeys(path.slice(0, -1))
  const guess = closest(name, keys)
  const advice = guess ? `did you mean ${guess}?` : `known here: ${keys.join(', ')}`
  return { key: printable(writeKeyPath(path)), source, message: `unknown key; ${advice}` }
}

function wrongValue(issue: z.core.$ZodIssue, path: KeyPath, tree: unknown, source: Source): Fault {
  const value = valueAt(tree, path)
  const found = value === undefined ? 'is missing' : `${show(path, value)} is not valid`
  return { key: printable(writeKeyPath(path)), source, message: `${found}; expected ${expectation(issue)}` }
}

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return issue.expected === 'array' ? 'a list' : 'a group of keys and values'
  if (issue.code === 'invalid_key') return issue.issues[0]?.message ?? issue.message
  return issue.message
}

/** A value as it was written, shortened, with nothing in it that is secret or that could steer a terminal. */
function show(path: KeyPath, value: unknown): string {
  if (isSecret(path)) return '***'
  if (isGroup(value)) return 'a group of keys'
  const text = Array.isArray(value) ? 'a list' : printable(maskUrls(JSON.stringify(value)))
  return text.length > 100 ? `${text.slice(0, 97)}...` : text
}

/** An id may be written with dashes or without, a URL with a slash at its end or without. */
function comparable(key: string, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  return key === 'id' ? value.toLowerCase().replaceAll('-', '') : trimEndingSlashes(value.toLowerCase())
}
