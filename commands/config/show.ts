import { BaseCommand } from '#src/cli/base-command.ts'
import { presentList, type Column } from '#src/cli/list.ts'
import { showConfig } from '#src/operations/config.ts'

const columns: readonly Column<{ key: string; value: unknown; source: string }>[] = [
  { name: 'key', value: ({ key }) => key, kind: 'url' },
  { name: 'value', value: ({ value }) => JSON.stringify(value), kind: 'text' },
  { name: 'source', value: ({ source }) => source, kind: 'text' },
]

export default class ConfigShow extends BaseCommand {
  static override summary = 'Show the effective configuration and the source of each value.'
  static override description =
    'A source is a flag, an environment variable, a line of the configuration file, or the default. Secrets are masked.'
  static override examples = [
    { description: 'Show every value and its source', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Show only values that differ from the defaults',
      command: '<%= config.bin %> <%= command.id %> --json | jq \'.values[] | select(.source != "default")\'',
    },
  ]

  async run() {
    await this.parse(ConfigShow)
    return this.perform(showConfig, {}, async (value, output) => {
      output.pairs([
        ['environment', value.environment],
        ['project directory', value.projectDir],
        ['config file', value.file],
        ['cache directory', value.cacheDir],
        ['data directory', value.dataDir],
      ])
      output.line()
      await presentList({ columns, items: value.values, noun: 'value', empty: '' }, output, null)
    })
  }
}
