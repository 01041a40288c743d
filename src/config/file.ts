import { createReadStream, readFileSync, statSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import type { Document, LineCounter, YAMLError } from 'yaml'
import { PagecacheError } from '../errors.ts'
import { printable } from '../lib/safe-text.ts'
import type { Fault } from './faults.ts'
import { isGroup, valueAt, type KeyPath } from './raw.ts'

/** A parsed configuration file: values, their lines, and YAML errors. */
export interface ConfigFile {
  values: Record<string, unknown>
  /** Whether the file has a value at this path. */
  has(path: KeyPath): boolean
  /** Line of a value; for a missing one, the line of its section. */
  lineOf(path: KeyPath): number
  faults: Fault[]
}

/** A larger file is not a configuration. */
const maxBytes = 1024 * 1024

/** Parses a YAML file; null if it does not exist. @throws CONFIG_INVALID if it cannot be read */
export async function readConfigFile(file: string, label: string): Promise<ConfigFile | null> {
  const text = await readText(file, label)
  if (text === null) return null
  const { LineCounter, parseDocument } = await import('yaml')
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true, merge: false })
  const faults = [...document.errors, ...document.warnings].map((problem) => ({
    key: '',
    source: { kind: 'file' as const, file: label, line: lines.linePos(problem.pos[0]).line },
    message: describeProblem(problem, text),
  }))
  const values = faults.length > 0 ? {} : toValues(document, label, faults)
  return {
    values,
    faults,
    has: (path) => valueAt(values, path) !== undefined,
    lineOf: (path) => lineOf(document, lines, path),
  }
}

function describeProblem({ code, message, pos }: YAMLError, text: string): string {
  if (code === 'MULTIPLE_DOCS') return 'the file has several YAML documents; only one is allowed'
  if (code !== 'DUPLICATE_KEY') return message
  const [, key = ''] = /^["']?([^"':\s]+)/.exec(text.slice(pos[0])) ?? []
  return `the key ${printable(key)} is given twice; put its values under the first one`
}

const reasons: Readonly<Record<string, string>> = {
  ENOTDIR: 'its directory is a file',
  EISDIR: 'it is a directory',
  EACCES: 'permission denied',
  ENAMETOOLONG: 'its name is too long',
  ELOOP: 'its symbolic links form a loop',
}

async function readText(file: string, label: string): Promise<string | null> {
  try {
    const bytes = isOrdinary(file) ? readFileSync(file) : await buffer(createReadStream(file, { end: maxBytes }))
    if (bytes.length > maxBytes)
      throw new PagecacheError('CONFIG_INVALID', `${label} is not a configuration file: it is larger than 1 MB.`)
    return bytes.toString('utf8')
  } catch (error) {
    if (error instanceof PagecacheError) throw error
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return null
    const why = reasons[code ?? ''] ?? (error as Error).message
    throw new PagecacheError('CONFIG_INVALID', `Could not read ${label}: ${why}.`, { cause: error })
  }
}

/** Whether a file can be read at once. The path may also be a pipe, or an endless device such as /dev/zero. */
function isOrdinary(file: string): boolean {
  const stats = statSync(file)
  return stats.isFile() && stats.size > 0 && stats.size <= maxBytes
}

function toValues(document: Document, label: string, faults: Fault[]): Record<string, unknown> {
  const source = { kind: 'file' as const, file: label, line: 1 }
  try {
    // The limit on aliases stops a "billion laughs" file.
    const value: unknown = document.toJS({ maxAliasCount: 100 })
    if (value === null || value === undefined) return {}
    if (isGroup(value)) return value
    faults.push({ key: '', source, message: 'expected keys and values such as server: { port: 8080 }' })
  } catch (error) {
    faults.push({ key: '', source, message: (error as Error).message })
  }
  return {}
}

function lineOf(document: Document, lines: LineCounter, path: KeyPath): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true) as { range?: [number, number, number] } | undefined
    if (node?.range) return lines.linePos(node.range[0]).line
  }
  return 1
}
