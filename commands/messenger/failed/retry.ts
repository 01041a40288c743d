import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { findIds, hasNoFailed, messageKind } from '#src/cli/find.ts'
import { symfonyFlags } from '#src/cli/symfony-flags.ts'
import { transportFlag } from '#src/cli/worker-flags.ts'
import { plural } from '#src/lib/format.ts'
import { retryFailedMessages } from '#src/operations/messenger.ts'

export default class MessengerFailedRetry extends BaseCommand {
  static override summary = 'Retry failed messages on their original transport.'
  static override description =
    'Workers process them again with a full set of attempts. Without IDs, retries every failed message after a confirmation.'
  static override exitCodes = exitCodes.withTarget
  static override examples = [
    {
      description: 'Retry one message',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a',
    },
    { description: 'Retry all failed messages in a script', command: '<%= config.bin %> <%= command.id %> --yes' },
  ]
  static override strict = false
  static override args = {
    ids: Args.string({ description: 'IDs of failed messages, or their beginnings.', multiple: true }),
  }
  static override flags = {
    ...symfonyFlags,
    transport: transportFlag,
    yes: yesFlag,
  }

  async run() {
    const { argv, flags } = await this.parse(MessengerFailedRetry)
    const ids = await this.performing(({ performer }) => findIds(performer, messageKind, argv as string[]))
    if (ids.length === 0 && !(this.mayAsk && (await this.performing(hasNoFailed))))
      await this.confirm('Retry every failed message?', flags.yes)
    return this.perform(
      retryFailedMessages,
      { ...(ids.length === 0 ? { all: true } : { ids }), transport: flags.transport as 'async' | undefined },
      ({ retried }, output) => {
        output.prose(
          retried === 0 ? '[OK] There are no failed messages.' : `[OK] ${plural(retried, 'message')} will be retried.`,
        )
      },
    )
  }
}
