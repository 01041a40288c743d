import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { plural } from '#src/lib/format.ts'
import { reloadConfig } from '#src/operations/config.ts'

export default class ConfigReload extends BaseCommand {
  static override summary = 'Have the running daemon read its configuration file again.'
  static override description = `An invalid file changes nothing: the daemon keeps its previous configuration, and the command exits with 2. Requests in progress
finish with the previous one. Changes to server and log take effect when the daemon is restarted.`
  static override examples = [
    { description: 'Apply a changed pagecache.yaml', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Apply it on another machine',
      command: '<%= config.bin %> <%= command.id %> --server https://cache.example',
    },
  ]
  static override exitCodes = exitCodes.withTarget

  protected override reportsMismatch = false

  async run() {
    await this.parse(ConfigReload)
    return this.perform(reloadConfig, {}, ({ file, channels }, output) => {
      output.prose(`The daemon runs with ${file ?? 'the defaults'}: ${plural(channels.length, 'sales channel')}.`)
      for (const { name, url } of channels) output.line(`  ${name}  ${url}`)
    })
  }
}
