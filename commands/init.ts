import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { initProject } from '#src/operations/init.ts'

export default class Init extends BaseCommand {
  static override summary = 'Write a commented configuration file.'
  static override examples = [
    { description: 'Write the defaults and an example', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Write a configuration for a shop',
      command: '<%= config.bin %> <%= command.id %> --url http://shop.example --origin http://127.0.0.1:8000',
    },
  ]
  static override exitCodes = [0, 1, 2, 3, 130]
  static override flags = {
    url: Flags.string({ summary: 'Public URL of the shop.', helpValue: '<url>', dependsOn: ['origin'] }),
    origin: Flags.string({ summary: 'URL of the shop behind the cache.', helpValue: '<url>', dependsOn: ['url'] }),
    shop: Flags.option({
      options: ['plain', 'shopware'] as const,
      summary: 'Kind of shop, whose defaults apply; default: found out from its answers.',
    })(),
    ttl: Flags.string({
      summary: 'Time to keep pages for which the shop names none, such as 10m; default: that of the running daemon.',
      helpValue: '<duration>',
    }),
    force: Flags.boolean({ summary: 'Overwrite an existing file.' }),
  }

  protected override tolerateFaults = true

  protected override reportsMismatch = false

  async run() {
    const { flags } = await this.parse(Init)
    const { url, origin, ttl, force } = flags
    // Without --force an existing file stays as it is: nothing to ask about.
    const mayWrite = force === true || (await this.load()).file === null
    const shop =
      flags.shop ??
      (origin === undefined && this.mayAsk && mayWrite
        ? await this.choose('Which kind of shop is it?', ['plain', 'shopware'], { yes: false })
        : undefined)
    return this.perform(initProject, { url, origin, shop, ttl, force }, (value, output) => {
      output.prose(`Wrote ${value.file}.`)
      const { shopNote, portNote, ttlNote } = value
      for (const note of [shopNote, portNote, ttlNote]) if (note !== null) output.prose(note)
      output.prose(value.next)
    })
  }
}
