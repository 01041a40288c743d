import type { Hook } from '@oclif/core/hooks'
import type { Config } from '@oclif/core/interfaces'
import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'
import { printable } from '../lib/printable.ts'

/** For a command that there is not: a suggestion, never a prompt (exit 2). */
export function unknownCommand(id: string, config: Config): PagecacheError {
  const guess = closest(id, [...config.commandIDs, ...config.topics.map((topic) => topic.name)])
  const usual = id.startsWith('-')
    ? 'The command comes first, its flags after it. pagecache --help lists all commands.'
    : 'pagecache --help lists all commands.'
  return new PagecacheError('USAGE', `There is no command ${printable(id)}.`, {
    hint: guess ? `Did you mean ${guess}?` : usual,
  })
}

/** oclif's hook. */
const commandNotFound: Hook.CommandNotFound = async ({ id, config }) => {
  throw unknownCommand(id, config)
}

export default commandNotFound
