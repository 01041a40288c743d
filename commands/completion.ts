import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { completionScript, shells } from '#src/cli/completion.ts'

export default class Completion extends BaseCommand {
  static override summary = 'Print the completion script for a shell.'
  static override description = 'The script completes commands, flags and flag values without starting a process.'
  static override exitCodes = exitCodes.local
  static override examples = [
    { description: 'Set up bash, in ~/.bashrc', command: 'eval "$(<%= config.bin %> <%= command.id %> bash)"' },
    {
      description: 'Set up zsh, in ~/.zshrc after compinit',
      command: 'eval "$(<%= config.bin %> <%= command.id %> zsh)"',
    },
    { description: 'Set up fish, in config.fish', command: '<%= config.bin %> <%= command.id %> fish | source' },
  ]
  static override args = {
    shell: Args.string({ description: 'Shell to complete in.', options: [...shells], required: true }),
  }

  async run() {
    const { args } = await this.parse(Completion)
    const shell = shells.find((name) => name === args.shell) ?? 'bash'
    const script = completionScript(shell, this.config.bin, this.config.commands)
    if (!this.jsonEnabled()) process.stdout.write(script)
    return { success: true, shell, script }
  }
}
