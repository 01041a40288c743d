import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { completionScript, shells } from '#src/cli/completion.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { installCompletion, shellInUse } from '#src/cli/install-completion.ts'

export default class Completion extends BaseCommand {
  static override summary = 'Set up completion in a shell, or print its script.'
  static override description =
    'The script completes commands, flags and values, among them warmups, stages, tags and URLs of this installation.'
  static override exitCodes = exitCodes.local
  static override examples = [
    { description: 'Set it up in your shell', command: '<%= config.bin %> <%= command.id %> --install' },
    { description: 'Use it in this bash only', command: 'eval "$(<%= config.bin %> <%= command.id %> bash)"' },
  ]
  static override args = {
    shell: Args.string({ description: 'Shell to complete in; default: yours (SHELL).', options: [...shells] }),
  }
  static override flags = {
    install: Flags.boolean({ summary: "Add it to the shell's start file." }),
  }

  async run() {
    const { args, flags } = await this.parse(Completion)
    const shell = shells.find((name) => name === args.shell) ?? shellInUse()
    if (flags.install) {
      const installed = await installCompletion(shell, this.config.bin)
      if (installed.changed) this.tell(`Added to ${installed.file}. Open a new ${shell} to use it.`)
      else this.tell(`${installed.file} already has it.`)
      return { success: true, shell, ...installed }
    }
    const script = completionScript(shell, this.config.bin, this.config.commands)
    if (!this.jsonEnabled()) process.stdout.write(script)
    return { success: true, shell, script }
  }
}
