import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { initProject } from '#src/operations/init.ts'

export default class Init extends BaseCommand {
  static override summary = 'Write a configuration file with every key explained.'
  static override examples = [
    { description: 'A file with the defaults and an example', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'A file for a shop',
      command: '<%= config.bin %> <%= command.id %> --url http://shop.example --origin http://127.0.0.1:8000',
    },
  ]
  static override exitCodes = [0, 1, 2, 3, 130]
  static override flags = {
    url: Flags.string({ summary: "What the shop's visitors type.", helpValue: '<url>', dependsOn: ['origin'] }),
    origin: Flags.string({ summary: 'Where the shop answers.', helpValue: '<url>', dependsOn: ['url'] }),
    force: Flags.boolean({ summary: 'Replace a file that is there.' }),
  }

  protected override tolerateFaults = true

  async run() {
    const { flags } = await this.parse(Init)
    const { url, origin, force } = flags
    return this.perform(initProject, { url, origin, force }, (value, output) => {
      output.line(`${value.file} written.`)
      if (value.portNote !== null) output.line(value.portNote)
      output.line(
        value.salesChannel
          ? 'Next: pagecache doctor, then pagecache serve.'
          : 'Next: name your shop in it, then pagecache doctor.',
      )
    })
  }
}
