import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { revokeApiClient } from '#src/operations/clients.ts'

export default class ClientRevoke extends BaseCommand {
  static override summary = 'End a client of the HTTP API; its tokens are void at once.'
  static override description =
    'The clients that it made over the HTTP API end with it, those that they made too, and so on.'
  static override examples = [
    {
      description: 'A client whose secret got out',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-000000000002',
    },
    {
      description: 'In a script',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-000000000002 --yes',
    },
  ]
  static override exitCodes = exitCodes.ofOne
  static override args = {
    id: Args.string({ description: 'The id of the client.', required: true }),
  }
  static override flags = { yes: yesFlag }

  async run() {
    const { args, flags } = await this.parse(ClientRevoke)
    await this.confirm(`Revoke the client ${args.id} and all that it made for good?`, flags.yes)
    return this.perform(revokeApiClient, { clientId: args.id }, ({ client, made }, output) => {
      output.line(`${client.name} (${client.clientId}) is revoked.`)
      for (const { name, clientId, createdBy } of made)
        output.line(`${name} (${clientId}), made by ${createdBy}, is revoked with it.`)
    })
  }
}
