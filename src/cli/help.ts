import { CommandHelp as OclifCommandHelp, Help as OclifHelp } from '@oclif/core/help'
import { globalFlagNames } from './flags.ts'
import { helpTopics } from './help-topics.ts'

/** Help of a command: examples before flags, and the global flags on one line. */
class CommandHelp extends OclifCommandHelp {
  protected override sections() {
    const sections = super.sections()
    const found = (header: string) => sections.filter((section) => section.header === header)
    const rest = sections.filter(({ header }) => !['USAGE', 'EXAMPLES'].includes(header))
    const global = { header: 'GLOBAL FLAGS', generate: () => this.wrap(globalLine) }
    return [...found('USAGE'), ...found('EXAMPLES'), ...rest, global]
  }

  protected override flags(flags: Parameters<OclifCommandHelp['flags']>[0]) {
    return super.flags(flags.filter(({ name }) => !globalFlagNames.includes(name)))
  }

  protected override defaultUsage(): string {
    const own = Object.entries(this.command.flags).filter(
      ([name, { hidden }]) => hidden !== true && !globalFlagNames.includes(name),
    )
    const args = Object.values(this.command.args).map(({ name, required, multiple }) => {
      const word = `${name.toUpperCase()}${multiple ? '...' : ''}`
      return required ? word : `[${word}]`
    })
    return [this.command.id, ...args, ...(own.length > 0 ? ['[FLAGS]'] : [])].join(' ')
  }
}

const globalLine = '--json, --env, --server, --quiet, --no-input, …: pagecache help flags'

export default class Help extends OclifHelp {
  protected override CommandHelpClass = CommandHelp

  protected override summary(command: Parameters<OclifHelp['summary']>[0]): string | undefined {
    const summary = super.summary(command)
    return summary === undefined ? undefined : this.wrap(summary, 0)
  }

  override async showRootHelp(): Promise<void> {
    await super.showRootHelp()
    const rows = Object.entries(helpTopics).map(([name, { summary }]): [string, string] => [`help ${name}`, summary])
    this.log(
      this.section(
        'MORE HELP',
        this.renderList([['help COMMAND', 'Show help of a command.'], ...rows], { indentation: 2 }),
      ),
    )
    this.log('')
  }
}
