import type { Hook } from '@oclif/core/hooks'
import type { Config } from '@oclif/core/interfaces'
import { PagecacheError } from '../errors.ts'
import { closest } from '../lib/closest.ts'
import { printable } from '../lib/safe-text.ts'

/** Commands that are never suggested: a suggestion is typed without thinking. */
const destroys = /(?:^|:)(?:clear|delete|remove|revoke|erase|cancel|stop-workers|rotate-key|deactivate)$/

/** What people type who know another program, or guess. */
const synonyms: Readonly<Record<string, string>> = {
  'cache:warm': 'warmup:start',
  'cache:warmup': 'warmup:start',
  'http:cache:warm:up': 'warmup:start',
  'cache:get': 'cache:inspect',
  'cache:show': 'cache:inspect',
  'cache:why': 'cache:inspect',
  start: 'serve',
  run: 'serve',
  warm: 'warmup:start',
  check: 'doctor',
}

/** The error for an unknown command, with a suggestion instead of oclif's prompt. */
export function unknownCommand(id: string, config: Config): PagecacheError {
  const names = [...config.commandIDs, ...config.topics.map((topic) => topic.name)]
  const isFlag = id.startsWith('-')
  const guess = isFlag
    ? undefined
    : (synonyms[id.toLowerCase()] ??
      closest(
        id,
        names.filter((name) => !destroys.test(name)),
      ))
  const general = isFlag
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
