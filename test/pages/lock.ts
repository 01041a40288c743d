import Database from 'better-sqlite3'
import { placesIn } from '../../src/pages/places.ts'

/** Keeps the writer from writing until `release`. */
export function lock(directory: string): { release(): void } {
  const holder = new Database(placesIn(directory).index)
  holder.exec('BEGIN IMMEDIATE')
  return { release: () => void holder.exec('COMMIT').close() }
}
