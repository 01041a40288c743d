import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { presentList, type Column } from '#src/cli/list.ts'
import { useProfile } from '#src/operations/profiles.ts'

const columns: readonly Column<{ name: string; server: string }>[] = [
  { name: 'profile', value: ({ name }) => name },
  { name: 'server', value: ({ server }) => server, kind: 'url' },
]

export default class ProfileUse extends BaseCommand {
  static override summary = 'Choose the daemon on which your commands run in this project.'
  static override description = `Commands then name the daemon each time. Flags and environment variables go before the choice. Other users, the daemon of this project and commands that run on this machine only are not affected.
Without a name, lists the profiles.`
  static override examples = [
    { description: 'Run commands on the staging daemon', command: '<%= config.bin %> <%= command.id %> staging' },
    { description: 'Run them on this machine again', command: '<%= config.bin %> <%= command.id %> --here' },
  ]
  static override exitCodes = [0, 1, 2, 3, 130]
  static override args = { name: Args.string({ description: 'Name of a profile in pagecache.yaml.' }) }
  static override flags = { here: Flags.boolean({ summary: 'Run on this machine again.' }) }

  protected override reportsMismatch = false

  async run() {
    const { args, flags } = await this.parse(ProfileUse)
    return this.perform(useProfile, { name: args.name, here: flags.here }, async ({ profile, profiles }, output) => {
      const empty = 'No profile is configured. Define one under profiles in pagecache.yaml.'
      if (args.name === undefined && !flags.here)
        await presentList({ columns, items: profiles, noun: 'profile', empty }, output, null)
      output.prose(profile === null ? 'Commands run on this machine.' : `Commands run on ${profile}.`)
    })
  }
}
