import type { Hook } from '@oclif/core/hooks'
import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'
import { printable } from '../lib/printable.ts'

/** oclif's hook for a command that there is not: a suggestion, never a prompt (exit 2). */
const commandNotFound: Hook.CommandNotFound = async ({ id, config }) => {
  const guess = closest(id, [...config.commandIDs, ...config.topics.map((topic) => topic.name)])
  throw new PagecacheError('USAGE', `There is no command ${printable(id)}.`, {
    hint: guess ? `Did you mean ${guess}?` : 'pagecache --help lists all commands.',
  })
}

export default commandNotFound
