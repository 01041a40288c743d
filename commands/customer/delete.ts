import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { plural } from '#src/lib/format.ts'
import { deleteCustomer } from '#src/operations/stages.ts'

export default class CustomerDelete extends BaseCommand {
  static override summary = 'Erase a customer from all popup stage events.'
  static override description = 'Removes or anonymises the events, as configured in stages.customerDeletion.'
  static override examples = [
    {
      description: 'Erase a customer who was deleted in the shop',
      command: '<%= config.bin %> <%= command.id %> 0190c0de00007000800000000000000c',
    },
    {
      description: 'Erase a customer in a script',
      command: '<%= config.bin %> <%= command.id %> 0190c0de00007000800000000000000c --yes --json | jq .events',
    },
  ]
  static override args = {
    id: Args.string({ description: 'Customer ID in the shop.', required: true }),
  }
  static override flags = { yes: yesFlag }

  async run() {
    const { args, flags } = await this.parse(CustomerDelete)
    await this.confirm(`Erase the customer ${args.id} from all events?`, flags.yes)
    return this.perform(deleteCustomer, { customerId: args.id }, ({ events, mode }, output) => {
      output.prose(`${plural(events, 'event')} ${mode === 'remove' ? 'removed' : 'anonymised'}.`)
    })
  }
}
