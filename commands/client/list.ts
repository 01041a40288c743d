import { BaseCommand } from '#src/cli/base-command.ts'
import { limitFlag, offsetFlag } from '#src/cli/flags.ts'
import { plural } from '#src/lib/plural.ts'
import { listApiClients } from '#src/operations/clients.ts'

export default class ClientList extends BaseCommand {
  static override summary = 'List the clients of the HTTP API.'
  static override description =
    'The oldest first. A client that another one made over the HTTP API names it, and ends with it.'
  static override examples = [
    { description: 'All of them, revoked ones too', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'The ids of those that are not revoked',
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
          ['id', 'name', 'scopes', 'created', 'made by', 'last used', 'revoked', 'revoked by'],
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
        if (output.terminal && items.length < total)
          output.line(`${items.length} of ${plural(total, 'client')}. More with --limit and --offset.`)
      },
    )
  }
}
