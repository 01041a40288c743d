import { PagecacheError } from '../errors.ts'

/** The number of an option, in Symfony's words where it is none. */
export function toPositive(name: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  if (/^0*[1-9]\d{0,14}$/.test(given)) return Number(given)
  throw new PagecacheError('USAGE', `Option "${name}" must be a positive integer, "${given}" passed.`)
}
