import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { testNotifications } from '#src/operations/notify.ts'

export default class NotifyTest extends BaseCommand {
  static override summary = 'Send a test notification to the configured webhooks.'
  static override description = `Sends it at once, without the queue, and shows what each webhook answered. The exit code is 1 if one did not accept it.`
  static override examples = [
    { description: 'Test all webhooks', command: '<%= config.bin %> <%= command.id %>' },
    { description: 'Test one of them', command: '<%= config.bin %> <%= command.id %> ops' },
  ]
  static override exitCodes = exitCodes.withTarget
  static override args = { name: Args.string({ description: 'Name of one webhook; default: all of them.' }) }

  async run() {
    const { args } = await this.parse(NotifyTest)
    const input = args.name === undefined ? {} : { name: args.name }
    const value = await this.perform(testNotifications, input, ({ webhooks }, output) =>
      output.table(
        ['webhook', 'result', 'ms'],
        webhooks.map(({ name, error, status, ms }) => [name, error ?? `accepted (${status})`, ms]),
      ),
    )
    if (!value.success) process.exitCode = 1
    return value
  }
}
