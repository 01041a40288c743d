import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlag, offsetFlag } from '#src/cli/flags.ts'
import { listApiClients } from '#src/operations/clients.ts'

export default class ClientList extends BaseCommand {
  static override summary = 'List the API clients, oldest first.'
  static override description = 'A client that was created by another client is revoked with it.'
  static override examples = [
    { description: 'List all clients, including revoked ones', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'List the IDs of active clients',
      command:
        '<%= config.bin %> <%= command.id %> --limit 1000 --json | jq -r ".items[] | select(.revokedAt == null) | .clientId"',
    },
  ]

  static override flags = { limit: limitFlag, offset: offsetFlag }

  async run() {
    const { flags } = await this.parse(ClientList)
    return this.perform(
      listApiClients,
      { limit: flags.limit, offset: flags.offset },
      async ({ items, total }, output) => {
        await output.table(
          ['id', 'name', 'scopes', 'created', 'created by', 'last used', 'revoked', 'revoked by'],
          items.map((client) => [
            client.clientId,
            client.name,
            client.scopes.join(' '),
            client.createdAt,
            client.createdBy,
            client.lastUsedAt,
            client.revokedAt,
            client.revokedBy,
          ]),
        )
        output.more(items.length, total, 'client')
      },
    )
  }
}
