import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { rotateSigningKey } from '#src/operations/clients.ts'

export default class ClientRotateKey extends BaseCommand {
  static override summary = 'Sign tokens with a new key from now on.'
  static override description =
    'Tokens that the old key has signed stay valid until they expire, so that nobody notices. Running daemons follow by themselves.'
  static override examples = [
    { description: 'Now and then', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'The old key got out: all tokens are void at once, clients fetch new ones',
      command: '<%= config.bin %> <%= command.id %> --drop-old',
    },
    { description: 'The same from a script', command: '<%= config.bin %> <%= command.id %> --drop-old --yes' },
  ]
  static override flags = {
    'drop-old': Flags.boolean({ summary: 'Void all tokens that older keys have signed; asks first.' }),
    yes: yesFlag,
  }

  async run() {
    const { flags } = await this.parse(ClientRotateKey)
    if (flags['drop-old'])
      await this.confirm('Void the tokens of all clients, so that each has to fetch a new one?', flags.yes)
    return this.perform(rotateSigningKey, { dropOld: flags['drop-old'] }, (value, output) => {
      output.line(
        `New tokens are signed by the key ${value.kid}. ${value.oldTokensValid ? 'Older tokens are valid until they expire.' : 'Older tokens are void.'}`,
      )
    })
  }
}
