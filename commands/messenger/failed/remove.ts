import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { findIds, hasNoFailed, messageKind } from '#src/cli/find.ts'
import { symfonyFlags } from '#src/cli/symfony-flags.ts'
import { transportFlag } from '#src/cli/worker-flags.ts'
import { PagecacheError } from '#src/errors.ts'
import { plural } from '#src/lib/format.ts'
import { removeFailedMessages } from '#src/operations/messenger.ts'

export default class MessengerFailedRemove extends BaseCommand {
  static override summary = 'Delete failed messages.'
  static override exitCodes = exitCodes.withTarget
  static override examples = [
    {
      description: 'Delete one message',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a',
    },
    {
      description: 'Delete all failed messages in a script',
      command: '<%= config.bin %> <%= command.id %> --all --yes',
    },
  ]
  static override strict = false
  static override args = {
    ids: Args.string({ description: 'IDs of failed messages, or their beginnings.', multiple: true }),
  }
  static override flags = {
    ...symfonyFlags,
    all: Flags.boolean({ summary: 'Delete all failed messages.' }),
    transport: transportFlag,
    yes: yesFlag,
  }

  async run() {
    const { argv, flags } = await this.parse(MessengerFailedRemove)
    const ids = await this.performing(({ performer }) => findIds(performer, messageKind, argv as string[]))
    if (Boolean(flags.all) === ids.length > 0)
      throw new PagecacheError('USAGE', 'No messages selected. Pass their IDs, or --all.', {
        hint: 'pagecache messenger:failed:show lists the IDs.',
      })
    if (!flags.all) await this.confirm(`Delete ${plural(ids.length, 'failed message')}?`, flags.yes)
    else if (!(this.mayAsk && (await this.performing(hasNoFailed))))
      await this.confirm('Delete every failed message?', flags.yes)
    return this.perform(
      removeFailedMessages,
      { ...(flags.all ? { all: true } : { ids }), transport: flags.transport as 'async' | undefined },
      ({ removed }, output) => {
        output.prose(`[OK] ${plural(removed, 'message')} deleted.`)
      },
    )
  }
}
