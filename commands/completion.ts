import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { completionScript, shells } from '#src/cli/completion.ts'

export default class Completion extends BaseCommand {
  static override summary = 'Print the completion script of a shell.'
  static override description =
    'Completes commands, flags and the values that flags can have, and starts no process for it.'
  static override exitCodes = exitCodes.local
  static override examples = [
    { description: 'For bash, in ~/.bashrc', command: 'eval "$(<%= config.bin %> <%= command.id %> bash)"' },
    {
      description: 'For zsh, in ~/.zshrc after compinit',
      command: 'eval "$(<%= config.bin %> <%= command.id %> zsh)"',
    },
    { description: 'For fish, in config.fish', command: '<%= config.bin %> <%= command.id %> fish | source' },
  ]
  static override args = {
    shell: Args.string({ description: 'The shell that reads the script.', options: [...shells], required: true }),
  }

  async run() {
    const { args } = await this.parse(Completion)
    const shell = shells.find((name) => name === args.shell) ?? 'bash'
    const script = completionScript(shell, this.config.bin, this.config.commands)
    if (!this.jsonEnabled()) process.stdout.write(script)
    return { success: true, shell, script }
  }
}
