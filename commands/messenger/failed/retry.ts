import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { symfonyFlags } from '#src/cli/symfony-flags.ts'
import { plural } from '#src/lib/plural.ts'
import { retryFailedMessages } from '#src/operations/messenger.ts'

export default class MessengerFailedRetry extends BaseCommand {
  static override summary = 'Put failed messages back on the transport that they came from.'
  static override description =
    'They are worked on by the running workers, with all their tries. Without an id it is every failed message, and it asks.'
  static override exitCodes = exitCodes.ofOne
  static override examples = [
    { description: 'One message', command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a' },
    { description: 'All of them', command: '<%= config.bin %> <%= command.id %> --yes' },
  ]
  static override strict = false
  static override args = {
    ids: Args.string({ description: 'Ids of failed messages.', multiple: true }),
  }
  static override flags = {
    ...symfonyFlags,
    transport: Flags.string({ summary: 'Only messages that came from this transport.', helpValue: '<name>' }),
    yes: yesFlag,
  }

  async run() {
    const { argv, flags } = await this.parse(MessengerFailedRetry)
    const ids = argv as string[]
    if (ids.length === 0) await this.confirm('Retry every failed message?', flags.yes)
    return this.perform(
      retryFailedMessages,
      { ...(ids.length === 0 ? { all: true } : { ids }), transport: flags.transport as 'async' | undefined },
      ({ retried }, output) => {
        output.line(retried === 0 ? '[OK] There is no failed message.' : `[OK] ${plural(retried, 'message')} put back.`)
      },
    )
  }
}
