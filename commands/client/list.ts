import { BaseCommand } from '#src/cli/base-command.ts'
import { listFlags, presentList, type Column, type EntryOf } from '#src/cli/list.ts'
import { listApiClients } from '#src/operations/clients.ts'

const columns: readonly Column<EntryOf<typeof listApiClients>>[] = [
  { name: 'id', value: (client) => client.clientId, kind: 'id' },
  { name: 'name', value: (client) => client.name, kind: 'text' },
  { name: 'scopes', value: (client) => client.scopes.join(' ') },
  { name: 'created', value: (client) => client.createdAt, kind: 'time', minor: true },
  { name: 'created by', value: (client) => client.createdBy, kind: 'text', minor: true },
  { name: 'last used', value: (client) => client.lastUsedAt, kind: 'time', minor: true },
  { name: 'revoked', value: (client) => client.revokedAt, kind: 'time' },
  { name: 'revoked by', value: (client) => client.revokedBy, kind: 'text', minor: true },
]

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

  static override flags = listFlags

  async run() {
    const { flags } = await this.parse(ClientList)
    const empty = 'No API client exists yet. Create one with: pagecache client:create NAME'
    return this.perform(listApiClients, { limit: flags.limit, offset: flags.offset }, (value, output) =>
      presentList({ columns, ...value, noun: 'client', empty }, output, flags),
    )
  }
}
