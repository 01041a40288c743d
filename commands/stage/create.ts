import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { presentStage } from '#src/cli/present-stage.ts'
import { stageFieldNames, stageFlags, stageInput } from '#src/cli/stage-flags.ts'
import { createStage } from '#src/operations/stages.ts'

export default class StageCreate extends BaseCommand {
  static override summary = 'Create a popup stage.'
  static override examples = [
    {
      description: 'Create a stage with a button, shown once per session',
      command:
        '<%= config.bin %> <%= command.id %> Sale --headline "Summer sale" --text "Everything must go." --cta-label "To the sale" --cta-url /sale --frequency once_per_session',
    },
    {
      description: 'Create a stage and print its ID',
      command:
        '<%= config.bin %> <%= command.id %> Newsletter --html-file newsletter.html --no-active --json | jq -r .stage.id',
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override fieldNames = stageFieldNames
  static override args = { name: Args.string({ description: 'Name of the stage.', required: true }) }
  static override flags = stageFlags

  async run() {
    const { args, flags } = await this.parse(StageCreate)
    return this.perform(createStage, { name: args.name, ...(await stageInput(flags)) }, ({ stage }, output) =>
      presentStage(stage, output),
    )
  }
}
