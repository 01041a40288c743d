import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { stageKind } from '#src/cli/find.ts'
import { presentStage } from '#src/cli/present-stage.ts'
import { showStage } from '#src/operations/stages.ts'

export default class StageShow extends BaseCommand {
  static override summary = 'Show a popup stage.'
  static override examples = [
    {
      description: 'Show all settings',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a',
    },
    {
      description: 'Show only the content',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a --json | jq .stage.content',
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override args = {
    id: Args.string({ description: 'ID of the stage, its beginning, or its name.', required: true }),
  }

  async run() {
    const { args } = await this.parse(StageShow)
    const { id } = await this.find(stageKind, args.id)
    return this.perform(showStage, { id }, ({ stage }, output) => presentStage(stage, output))
  }
}
