import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { forgetNode } from '#src/operations/cluster.ts'

export default class ClusterForget extends BaseCommand {
  static override summary = 'Remove a lost machine from the cluster.'
  static override description =
    'A daemon that shuts down cleanly leaves the cluster by itself. If a forgotten machine returns, it starts with an empty cache.'
  static override exitCodes = exitCodes.withTarget
  static override examples = [
    { description: 'Remove a machine that was switched off', command: '<%= config.bin %> <%= command.id %> web-3' },
    {
      description: 'Remove a machine that has just crashed, in a script',
      command: '<%= config.bin %> <%= command.id %> web-3 --force --yes',
    },
  ]
  static override args = {
    node: Args.string({ description: 'Name of the node.', required: true }),
  }
  static override flags = {
    yes: yesFlag,
    force: Flags.boolean({ summary: 'Also remove a node that is live, or may still serve pages without a lease.' }),
  }

  async run() {
    const { args, flags } = await this.parse(ClusterForget)
    await this.confirm(`Remove the node ${args.node} from the cluster?`, flags.yes)
    return this.perform(forgetNode, { node: args.node, force: flags.force }, ({ name }, output) =>
      output.line(`${name} was removed from the cluster.`),
    )
  }
}
