import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { plural } from '#src/lib/format.ts'
import { validateConfig } from '#src/operations/config.ts'

export default class ConfigValidate extends BaseCommand {
  static override summary = 'Check a configuration file without using it.'
  static override description =
    'Lists every error with its key, value and line, and exits with 2. Environment variables are applied as for any command.'
  static override examples = [
    {
      description: 'Check the file in use',
      command: '<%= config.bin %> <%= command.id %> "$(<%= config.bin %> config:path)"',
    },
    {
      description: 'Check a file before it is deployed',
      command: '<%= config.bin %> <%= command.id %> pagecache.yaml',
    },
  ]
  static override exitCodes = exitCodes.local
  static override args = { file: Args.string({ description: 'Path of the file.', required: true }) }

  protected override tolerateFaults = true
  protected override reportsMismatch = false

  async run() {
    const { args } = await this.parse(ConfigValidate)
    return this.perform(validateConfig, { file: args.file }, ({ file, channels }, output) => {
      output.prose(`${file} is valid: ${plural(channels.length, 'sales channel')}.`)
    })
  }
}
