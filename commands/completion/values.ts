import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { valueKinds } from '#src/cli/completable.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { globalFlagsIn } from '#src/cli/global-flags.ts'

export default class CompletionValues extends BaseCommand {
  static override hidden = true
  static override summary = 'Print values for the completion of a shell, one per line.'
  static override description =
    'Called by the scripts of pagecache completion. The words of the line choose the environment or the daemon. Errors print nothing.'
  static override examples = [
    {
      description: 'Print the tags that begin with product-',
      command: '<%= config.bin %> <%= command.id %> tags product-',
    },
    { description: 'Print the latest warmups', command: '<%= config.bin %> <%= command.id %> warmups' },
  ]
  static override exitCodes = exitCodes.local
  static override args = {
    kind: Args.string({ description: 'Kind of values.', options: [...valueKinds], required: true }),
  }

  protected override tolerateFaults = true
  protected override reportsMismatch = false

  async run() {
    const [given = '', beginning = '', ...words] = this.argv
    const { completeValues } = await import('#src/cli/completion-values.ts')
    try {
      // bash and zsh also pass the word being typed, which may be an unfinished value of --profile.
      const typed = words.at(-1) === beginning ? words.slice(0, -1) : words
      await this.parse(CompletionValues, [given, ...globalFlagsIn(typed), '--quiet', '--timeout', '2s'])
      const kind = valueKinds.find((each) => each === given) ?? 'warmups'
      const offers = await this.performing((session) => completeValues(session, kind, beginning))
      process.stdout.write(offers.map(({ value, description }) => `${value}\t${description}\n`).join(''))
    } catch {
      // A message would be mixed into the line that is being typed.
    }
  }
}
