import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { createApiClient } from '#src/operations/clients.ts'

export default class ClientCreate extends BaseCommand {
  static override summary = 'Create an API client and show its secret once.'
  static override description = `The client fetches tokens at /api/oauth/token with its ID and secret. With --scope read, it has read-only access.
With --server, the new client belongs to the client that created it and is revoked with it.`
  static override examples = [
    { description: 'Create a client for deployments', command: '<%= config.bin %> <%= command.id %> deployment' },
    {
      description: 'Create a read-only client for a dashboard',
      command: '<%= config.bin %> <%= command.id %> dashboard --scope read --json',
    },
  ]
  static override args = {
    name: Args.string({ description: 'Name of the client in lists.', required: true }),
  }
  static override flags = {
    scope: Flags.option({
      options: ['read', 'write'] as const,
      summary: 'Access: read-only, or read and write.',
      default: 'write' as const,
    })(),
  }

  /** The secret is shown only once: with --quiet too. */
  protected override get silent() {
    return this.jsonEnabled()
  }

  async run() {
    const { args, flags } = await this.parse(ClientCreate)
    return this.perform(createApiClient, { name: args.name, scope: flags.scope }, (value, output) => {
      output.pairs([
        ['Client ID', value.clientId],
        ['Secret', value.clientSecret],
        ['Scopes', value.scopes.join(' ')],
      ])
      this.tell('The secret is not shown again. Store it where only the client can read it.')
    })
  }
}
