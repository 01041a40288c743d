import { PagecacheError } from '../errors.ts'

/** The number of a flag, from 1. @throws USAGE */
export function toPositive(name: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  if (/^0*[1-9]\d{0,14}$/.test(given)) return Number(given)
  throw new PagecacheError('USAGE', `--${name}: expected a whole number from 1, not ${JSON.stringify(given)}`)
}
