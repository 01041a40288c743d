import * as Flags from '@oclif/core/flags'
import { PagecacheError } from '../errors.ts'

/** Limits after which a long-running command ends, so that a service manager can restart it. Parsed by `toLimits`. */
export const limitFlags = {
  'time-limit': Flags.string({ char: 't', summary: 'Stop after this many seconds.', helpValue: '<seconds>' }),
  'memory-limit': Flags.string({
    char: 'm',
    summary: 'Stop when the process uses more memory than this.',
    helpValue: '<size>',
  }),
}

/** Flags of messenger:consume. */
export const consumeFlags = {
  limit: Flags.string({ char: 'l', summary: 'Stop after this many messages.', helpValue: '<n>' }),
  'failure-limit': Flags.string({ char: 'f', summary: 'Stop after this many failures.', helpValue: '<n>' }),
  ...limitFlags,
  sleep: Flags.string({
    summary: 'Poll an empty queue at this interval; default: react to new messages at once.',
    helpValue: '<seconds>',
  }),
  verbose: Flags.boolean({ char: 'v', summary: 'Print each handled message.' }),
}

/** Parses a flag as a whole number, 1 or more. @throws USAGE */
export function toPositive(name: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  if (/^0*[1-9]\d{0,14}$/.test(given)) return Number(given)
  throw new PagecacheError('USAGE', `--${name}: expected a whole number from 1, not ${JSON.stringify(given)}`)
}

/** Parses a flag as seconds, with a fraction if given. @throws USAGE */
export function toSeconds(name: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  if (/^\d{1,9}(\.\d{1,6})?$/.test(given)) return Number(given)
  throw new PagecacheError('USAGE', `--${name}: expected a number of seconds, not ${JSON.stringify(given)}`)
}

export const transportFlag = Flags.string({ summary: 'Only messages from this transport.', helpValue: '<name>' })

/** Flags of messenger:failed:show. */
export const failedFlags = {
  max: Flags.integer({ summary: 'Number of messages to list, 1 to 1000.', default: 50, helpValue: '<n>' }),
  transport: transportFlag,
  'class-filter': Flags.string({ summary: 'Only messages of this type.', aliases: ['type'], helpValue: '<type>' }),
  stats: Flags.boolean({ summary: 'Count the messages by type.' }),
}
