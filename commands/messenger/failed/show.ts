import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { messageKind } from '#src/cli/find.ts'
import { presentFailedMessage, presentFailedMessages } from '#src/cli/present-messenger.ts'
import { failedFlags } from '#src/cli/worker-flags.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { listFailedMessages, showFailedMessage } from '#src/operations/messenger.ts'

export default class MessengerFailedShow extends BaseCommand {
  static override summary = 'List failed messages, or show one.'
  static override exitCodes = exitCodes.withTarget
  static override examples = [
    { description: 'List the latest fifty', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Show one message with its payload',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a',
    },
    { description: 'Count them by type', command: '<%= config.bin %> <%= command.id %> --stats' },
  ]
  static override args = { id: Args.string({ description: 'Message to show: its ID, or the beginning of it.' }) }
  static override flags = { ...symfonyFlags, yes: needlessYes, ...failedFlags }

  async run() {
    const { args, flags } = await this.parse(MessengerFailedShow)
    if (args.id !== undefined) {
      const { id } = await this.find(messageKind, args.id)
      return this.perform(showFailedMessage, { id }, ({ message }, output) => presentFailedMessage(message, output))
    }
    const input = {
      limit: flags.stats ? 1000 : flags.max,
      type: flags['class-filter'],
      transport: flags.transport as 'async' | undefined,
    }
    return this.perform(listFailedMessages, input, (value, output) =>
      presentFailedMessages(value, output, { counts: flags.stats }),
    )
  }
}
