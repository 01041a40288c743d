import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'

export default class Version extends BaseCommand {
  static override summary = 'Print the version of pagecache and of Node.'
  static override examples = [
    { description: 'Print both', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Print the version of pagecache alone',
      command: '<%= config.bin %> <%= command.id %> --json | jq -r .version',
    },
  ]
  static override exitCodes = exitCodes.local

  async run() {
    await this.parse(Version)
    const { version, platform, arch } = this.config
    const value = { success: true, version, node: process.version, platform: `${platform}-${arch}` }
    if (!this.jsonEnabled()) this.log(this.config.userAgent)
    return value
  }
}
