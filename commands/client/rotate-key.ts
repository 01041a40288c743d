import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { yesFlag } from '#src/cli/confirm.ts'
import { rotateSigningKey } from '#src/operations/clients.ts'

export default class ClientRotateKey extends BaseCommand {
  static override summary = 'Rotate the key that signs API tokens.'
  static override description =
    'Tokens signed with the old key stay valid until they expire. Running daemons pick up the new key automatically.'
  static override examples = [
    { description: 'Rotate the key as a routine', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Invalidate all tokens after the old key was exposed',
      command: '<%= config.bin %> <%= command.id %> --drop-old',
    },
    {
      description: 'Invalidate all tokens in a script',
      command: '<%= config.bin %> <%= command.id %> --drop-old --yes',
    },
  ]
  static override flags = {
    'drop-old': Flags.boolean({ summary: 'Invalidate all tokens signed with older keys; asks first.' }),
    yes: yesFlag,
  }

  async run() {
    const { flags } = await this.parse(ClientRotateKey)
    if (flags['drop-old'])
      await this.confirm('Invalidate the tokens of all clients? Each has to fetch a new one.', flags.yes)
    return this.perform(rotateSigningKey, { dropOld: flags['drop-old'] }, (value, output) => {
      output.prose(
        `New tokens are signed with the key ${value.kid}. Older tokens ${value.oldTokensValid ? 'stay valid until they expire' : 'are invalid'}.`,
      )
    })
  }
}
