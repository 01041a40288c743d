import { namesSecret } from '../lib/safe-text.ts'

/** Path of a value in the unvalidated configuration, such as `['salesChannels', 0, 'url']`. */
export type KeyPath = readonly (string | number)[]

export type Source =
  | { kind: 'default' }
  | { kind: 'file'; file: string; line: number }
  | { kind: 'variable'; name: string }
  | { kind: 'flag'; name: string }
  /** Taken from the running daemon. */
  | { kind: 'daemon' }

export function writeSource(source: Source): string {
  if (source.kind === 'file') return `${source.file}:${source.line}`
  if (source.kind === 'variable') return source.name
  if (source.kind === 'flag') return `--${source.name}`
  return source.kind === 'daemon' ? 'the running daemon' : 'default'
}

/** Formats a path for messages and `config:show`: `salesChannels[0].url`. */
export function writeKeyPath(path: KeyPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    const name = /^[\w-]+$/.test(part) ? part : JSON.stringify(part)
    return text === '' ? name : `${text}.${name}`
  }, '')
}

export function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value at a path, or undefined. Reads own properties only, so that no path reaches a prototype. */
export function valueAt(tree: unknown, path: KeyPath): unknown {
  let value = tree
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string | number, unknown>)[part]
  }
  return value
}

/** Returns a copy of the tree with one value set. A section that is not an object is left for validation to report. */
export function withValue(
  tree: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
): Record<string, unknown> {
  const [head, ...rest] = path
  if (head === undefined) return tree
  if (rest.length === 0) return { ...tree, [head]: value }
  const child = Object.hasOwn(tree, head) ? tree[head] : {}
  return isGroup(child) ? { ...tree, [head]: withValue(child, rest, value) } : tree
}

/** Whether a value may be a credential: a key that sounds like a secret, a database URL, or a cookie or header of a warmup variant. */
export function isSecret(path: KeyPath): boolean {
  const [owner, name] = [path.at(-2), path.at(-1)]
  if (typeof name !== 'string') return false
  // The path of an incoming webhook authorises its sender.
  if (path[0] === 'notify' && name === 'url') return true
  // The path of a secret file is not secret itself.
  if (name.endsWith('File')) return false
  // Connection URLs have passwords, and a misspelt one may have it anywhere.
  if (owner === 'records' && name !== 'pool') return true
  if (owner === 'shared' && name === 'url') return true
  return /secret|passw|^auth$/i.test(name) || ((owner === 'cookies' || owner === 'headers') && namesSecret(name))
}
