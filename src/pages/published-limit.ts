import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import { fileMode, type Places } from './places.ts'

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = constants

/**
 * The limit in bytes that the last daemon on this store chose, so that other processes use the same one: computed anew,
 * it changes with the free space. Null when there is none.
 */
export function readLimit(places: Places): number | null {
  const text = withFile(places.limit, O_RDONLY | O_NONBLOCK, (file) => {
    const buffer = Buffer.alloc(32)
    return buffer.toString('latin1', 0, readSync(file, buffer))
  })
  const limit = /^\d{1,15}\n$/.test(text ?? '') ? Number(text) : 0
  return limit > 0 ? limit : null
}

/** Publishes the limit. Does nothing when the directory is not writable. */
export function writeLimit(places: Places, limit: number): void {
  withFile(places.limit, O_WRONLY | O_CREAT | O_TRUNC, (file) => writeSync(file, `${limit}\n`))
}

/** Null when the file cannot be used. Follows no links. */
function withFile<T>(path: string, flags: number, use: (file: number) => T): T | null {
  let file: number | null = null
  try {
    file = openSync(path, flags | O_NOFOLLOW, fileMode)
    return use(file)
  } catch {
    return null
  } finally {
    if (file !== null) closeSync(file)
  }
}
