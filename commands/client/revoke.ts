import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { clientKind } from '#src/cli/find.ts'
import { revokeApiClient } from '#src/operations/clients.ts'

export default class ClientRevoke extends BaseCommand {
  static override summary = 'Revoke an API client; its tokens become invalid at once.'
  static override description =
    'Also revokes the clients that it created through the HTTP API, and those that they created.'
  static override examples = [
    {
      description: 'Revoke a client whose secret was exposed',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-000000000002',
    },
    {
      description: 'Revoke it in a script',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-000000000002 --yes',
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override args = {
    id: Args.string({ description: 'ID of the client, its beginning, or its name.', required: true }),
  }
  static override flags = { yes: yesFlag }

  async run() {
    const { args, flags } = await this.parse(ClientRevoke)
    const { id, name } = await this.find(clientKind, args.id)
    const client = name === null ? id : `${name} (${id})`
    await this.confirm(`Revoke the client ${client} and all clients it created? This cannot be undone.`, flags.yes)
    return this.perform(revokeApiClient, { clientId: id }, ({ client: revoked, made: created }, output) => {
      output.prose(`${revoked.name} (${revoked.clientId}) was revoked.`)
      for (const { name, clientId, createdBy } of created)
        output.prose(`${name} (${clientId}), created by ${createdBy}, was revoked with it.`)
    })
  }
}
