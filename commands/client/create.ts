import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { createApiClient } from '#src/operations/clients.ts'

export default class ClientCreate extends BaseCommand {
  static override summary = 'Make a client of the HTTP API, and show its secret once.'
  static override description = `A client fetches tokens with its id and secret at /api/oauth/token. With --scope read it can look at everything and change nothing.
Made with --server, it belongs to the client that made it, and is revoked with it.`
  static override examples = [
    { description: 'A client for deployments', command: '<%= config.bin %> <%= command.id %> deployment' },
    {
      description: 'A client for a dashboard',
      command: '<%= config.bin %> <%= command.id %> dashboard --scope read --json',
    },
  ]
  static override args = {
    name: Args.string({ description: 'What it is for, as lists show it.', required: true }),
  }
  static override flags = {
    scope: Flags.option({
      options: ['read', 'write'] as const,
      summary: 'What it may do: look, or change things too.',
      default: 'write' as const,
    })(),
  }

  async run() {
    const { args, flags } = await this.parse(ClientCreate)
    return this.perform(createApiClient, { name: args.name, scope: flags.scope }, (value, output) => {
      output.pairs([
        ['Client id', value.clientId],
        ['Secret', value.clientSecret],
        ['Scopes', value.scopes.join(' ')],
      ])
      this.tell('The secret is not shown again: keep it where only its user can read it.')
    })
  }
}
