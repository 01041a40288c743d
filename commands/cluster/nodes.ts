import { BaseCommand } from '#src/cli/base-command.ts'
import { listFlags } from '#src/cli/list.ts'
import { presentNodes } from '#src/cli/present-nodes.ts'
import { listNodes } from '#src/operations/cluster.ts'

export default class ClusterNodes extends BaseCommand {
  static override summary = 'List the machines that share the records, with their state.'
  static override description =
    'A live node serves from its cache under a lease. A suspect one is silent or starting, and purges do not wait for it. A node that was silent for ten minutes is gone.'
  static override examples = [
    { description: 'List all nodes', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'List the names of nodes that are not live',
      command: `<%= config.bin %> <%= command.id %> --json | jq -r '.items[] | select(.state != "live") | .name'`,
    },
  ]
  static override flags = listFlags

  async run() {
    const { flags } = await this.parse(ClusterNodes)
    return this.perform(listNodes, { limit: flags.limit, offset: flags.offset }, (value, output) =>
      presentNodes(value, output, flags),
    )
  }
}
