import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { plural } from '#src/lib/plural.ts'
import { listFailedMessages, showFailedMessage } from '#src/operations/messenger.ts'

export default class MessengerFailedShow extends BaseCommand {
  static override summary = 'List the messages that could not be handled, or show one.'
  static override exitCodes = exitCodes.ofOne
  static override examples = [
    { description: 'The newest fifty', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'One with its payload',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a',
    },
    { description: 'How many of each type', command: '<%= config.bin %> <%= command.id %> --stats' },
  ]
  static override args = {
    id: Args.string({ description: 'Show this message.' }),
  }
  static override flags = {
    ...symfonyFlags,
    yes: needlessYes,
    max: Flags.integer({ summary: 'How many to list, 1 to 1000.', default: 50, helpValue: '<n>' }),
    transport: Flags.string({ summary: 'Only messages that came from this transport.', helpValue: '<name>' }),
    'class-filter': Flags.string({ summary: 'Only messages of this type.', aliases: ['type'], helpValue: '<type>' }),
    stats: Flags.boolean({ summary: 'Count them by type.' }),
  }

  async run() {
    const { args, flags } = await this.parse(MessengerFailedShow)
    if (args.id !== undefined) return this.#show(args.id)
    const input = {
      limit: flags.stats ? 1000 : flags.max,
      type: flags['class-filter'],
      transport: flags.transport as 'async' | undefined,
    }
    return this.perform(listFailedMessages, input, async ({ total, items }, output) => {
      if (total === 0) return output.line('[OK] No failed messages were found.')
      if (flags.stats) return output.table(['Class', 'Count'], byType(items))
      await output.table(
        ['Id', 'Class', 'Failed at', 'Error'],
        items.map(({ id, type, failedAt, error }) => [id, type, failedAt, error]),
      )
      if (items.length < total) output.line(`${items.length} of ${plural(total, 'message')}. More with --max.`)
    })
  }

  #show(id: string) {
    return this.perform(showFailedMessage, { id }, ({ message }, output) => {
      output.pairs([
        ['Id', message.id],
        ['Class', message.type],
        ['Transport', message.transport],
        ['Group', message.group],
        ['Sent at', message.createdAt],
        ['Failed at', message.failedAt],
        ['Attempts', message.attempts],
        ['Crashes', message.crashes],
        ['Error', message.error],
        ['Payload', JSON.stringify(message.payload)],
      ])
    })
  }
}

function byType(items: readonly { type: string }[]): [string, number][] {
  const counts = new Map<string, number>()
  for (const { type } of items) counts.set(type, (counts.get(type) ?? 0) + 1)
  return [...counts].toSorted((a, b) => b[1] - a[1])
}
