import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { plural } from '#src/lib/plural.ts'
import { deleteCustomer } from '#src/operations/stages.ts'

export default class CustomerDelete extends BaseCommand {
  static override summary = 'Erase a customer from the events of the popup stages.'
  static override description =
    'The events are removed, or stay and name nobody any more: stages.customerDeletion of the configuration says which.'
  static override examples = [
    {
      description: 'A customer who was deleted in the shop',
      command: '<%= config.bin %> <%= command.id %> 0190c0de00007000800000000000000c',
    },
    {
      description: 'The same from a script',
      command: '<%= config.bin %> <%= command.id %> 0190c0de00007000800000000000000c --yes --json | jq .events',
    },
  ]
  static override args = {
    id: Args.string({ description: 'The id of the customer, as the shop has it.', required: true }),
  }
  static override flags = { yes: yesFlag }

  async run() {
    const { args, flags } = await this.parse(CustomerDelete)
    await this.confirm(`Erase the customer ${args.id} from all events?`, flags.yes)
    return this.perform(deleteCustomer, { customerId: args.id }, ({ events, mode }, output) => {
      output.line(`${plural(events, 'event')} ${mode === 'remove' ? 'removed' : 'anonymized'}.`)
    })
  }
}
