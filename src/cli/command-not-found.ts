import type { Hook } from '@oclif/core/hooks'
import type { Config } from '@oclif/core/interfaces'
import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'
import { printable } from '../lib/safe-text.ts'

/** The error for an unknown command, with a suggestion instead of oclif's prompt. */
export function unknownCommand(id: string, config: Config): PagecacheError {
  const guess = closest(id, [...config.commandIDs, ...config.topics.map((topic) => topic.name)])
  const general = id.startsWith('-')
    ? 'Put the command before its flags. pagecache --help lists all commands.'
    : 'pagecache --help lists all commands.'
  return new PagecacheError('USAGE', `Unknown command: ${printable(id)}.`, {
    hint: guess ? `Did you mean ${guess}?` : general,
  })
}

/** Hook that oclif calls for an unknown command. */
const commandNotFound: Hook.CommandNotFound = async ({ id, config }) => {
  throw unknownCommand(id, config)
}

export default commandNotFound
