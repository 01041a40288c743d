import { BaseCommand } from '#src/cli/base-command.ts'
import { findConfig } from '#src/operations/config.ts'

export default class ConfigPath extends BaseCommand {
  static override summary = 'Print the path of the configuration file.'
  static override examples = [
    { description: 'Print the path', command: '<%= config.bin %> <%= command.id %>' },
    { description: 'Open it in an editor', command: '$EDITOR "$(<%= config.bin %> <%= command.id %>)"' },
  ]

  protected override tolerateFaults = true
  protected override reportsMismatch = false

  async run() {
    await this.parse(ConfigPath)
    return this.perform(findConfig, {}, ({ file, exists }, output) => {
      output.line(file)
      if (!exists) this.tell('The file does not exist yet. Create it with: pagecache init')
    })
  }
}
