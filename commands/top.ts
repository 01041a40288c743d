import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { noTuiFlag } from '#src/cli/flags.ts'
import { trafficTypes, visitorResults } from '#src/operations/traffic-live.ts'

export default class Top extends BaseCommand {
  static override summary = 'Watch requests of visitors as they end: time, result, reason, duration and path.'
  static override description = `Shows the requests of all daemon processes on the machine. Paths are shown without their query; nothing identifies the visitor.
At more than 200 requests a second and process, shows a sample and the number of the others. A queue consumer has no visitors and is not shown.
On a terminal, shows a list to filter, freeze and search through, and the most frequent misses; press ? for the keys and q to leave. With --no-tui and with --limit, prints a line for each request.
Without a terminal and with --json, prints a line of JSON for each request.`
  static override examples = [
    { description: 'Watch all requests', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Watch the product pages that are missed, and why',
      command: '<%= config.bin %> <%= command.id %> --result miss --type products',
    },
    {
      description: 'Count the next 1,000 requests by result',
      command: `<%= config.bin %> <%= command.id %> --json --limit 1000 | jq -r 'select(.kind == "request").result' | sort | uniq -c`,
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override flags = {
    result: Flags.option({
      options: visitorResults,
      multiple: true,
      summary: 'Only this result; repeatable.',
      helpValue: '<result>',
    })(),
    type: Flags.option({
      options: trafficTypes,
      multiple: true,
      summary: 'Only this page type; repeatable.',
      helpValue: '<type>',
    })(),
    path: Flags.string({ summary: 'Only paths that begin with this; * matches anything.', helpValue: '<path>' }),
    'sales-channel': Flags.string({ summary: 'Only this sales channel.', helpValue: '<id>' }),
    limit: Flags.integer({ summary: 'End after this many requests.', min: 1, helpValue: '<n>' }),
    jsonl: Flags.boolean({ summary: 'Print each request as one line of JSON, as with --json.', exclusive: ['json'] }),
    'no-tui': noTuiFlag,
  }
  static override fieldNames = { salesChannelId: '--sales-channel' }

  async run() {
    const { flags } = await this.parse(Top)
    const { result, type, path, 'sales-channel': salesChannelId } = flags
    const filter = {
      ...(result !== undefined && { result }),
      ...(type !== undefined && { type }),
      ...(path !== undefined && { path }),
      ...(salesChannelId !== undefined && { salesChannelId }),
    }
    const json = this.jsonEnabled() || flags.jsonl || process.stdout.isTTY !== true
    const { top } = await import('#src/cli/top.ts')
    await this.performing((session) =>
      top(session, { filter, json, tui: !flags['no-tui'], limit: flags.limit ?? null }),
    )
  }
}
