import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { pageTypeFlag, sinceFlag } from '#src/cli/flags.ts'
import { groupings, presentTraffic } from '#src/cli/present-traffic.ts'
import { readTraffic } from '#src/operations/traffic.ts'

export default class CacheTraffic extends BaseCommand {
  static override summary = 'Show what visitors got: hit ratio, requests, bytes and times.'
  static override description = `The daemon counts every request and writes the counts every ten seconds. Minutes are kept for 48 hours, hours for 400 days.`
  static override examples = [
    { description: 'Show the last 24 hours by page type', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Show the last hour by result',
      command: '<%= config.bin %> <%= command.id %> --since 1h --by result',
    },
    {
      description: 'Print the hit ratio of the last week',
      command: '<%= config.bin %> <%= command.id %> --since 7d --json | jq .totals.hitRatio',
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override flags = {
    since: sinceFlag,
    by: Flags.option({ options: groupings, default: 'type', summary: 'Rows of the table.', helpValue: '<group>' })(),
    type: pageTypeFlag(),
    'sales-channel': Flags.string({ summary: 'Only this sales channel.', helpValue: '<id>' }),
  }
  static override fieldNames = { salesChannelId: '--sales-channel', last: '--since', from: '--since' }

  async run() {
    const { flags } = await this.parse(CacheTraffic)
    const { since: last, by, type, 'sales-channel': salesChannelId } = flags
    const input = {
      last,
      ...(type !== undefined && { type }),
      ...(salesChannelId !== undefined && { salesChannelId }),
    }
    return this.perform(readTraffic, input, async (value, output) =>
      presentTraffic(value, by, output, by === 'channel' && output.terminal ? await this.channelNames() : undefined),
    )
  }

  private async channelNames(): Promise<ReadonlyMap<string, string>> {
    const { readChannels, toChannelNames } = await import('#src/cli/channels.ts')
    const reading = this.performing(({ performer }) => readChannels(performer))
    return toChannelNames(reading, (message) => this.tell(message))
  }
}
