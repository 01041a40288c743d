import { BaseCommand } from '#src/cli/base-command.ts'
import { listApiClients } from '#src/operations/clients.ts'

export default class ClientList extends BaseCommand {
  static override summary = 'List the clients of the HTTP API.'
  static override examples = [
    { description: 'All of them, revoked ones too', command: '<%= config.bin %> <%= command.id %>' },
    { description: 'The ids of those that are not revoked', command: '<%= config.bin %> <%= command.id %> --json | jq -r ".items[] | select(.revokedAt == null) | .clientId"' },
  ]

  async run() {
    await this.parse(ClientList)
    return this.perform(listApiClients, {}, (value, output) =>
      output.table(
        ['id', 'name', 'scopes', 'created', 'last used', 'revoked'],
        value.items.map((client) => [client.clientId, client.name, client.scopes.join(' '), client.createdAt, client.lastUsedAt, client.revokedAt]),
      ),
    )
  }
}
