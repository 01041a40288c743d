import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { stageKind } from '#src/cli/find.ts'
import { presentStage } from '#src/cli/present-stage.ts'
import { duplicateStage } from '#src/operations/stages.ts'

export default class StageDuplicate extends BaseCommand {
  static override summary = 'Copy a popup stage.'
  static override description = 'The copy has the same settings, no events, and is not active.'
  static override examples = [
    { description: 'Copy a stage', command: '<%= config.bin %> <%= command.id %> Summer' },
    {
      description: 'Copy a stage under another name',
      command: '<%= config.bin %> <%= command.id %> Summer --name Autumn',
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override args = {
    id: Args.string({ description: 'ID of the stage, its beginning, or its name.', required: true }),
  }
  static override flags = {
    name: Flags.string({ summary: 'Name of the copy; default: "Copy of" and the name.', helpValue: '<name>' }),
  }

  async run() {
    const { args, flags } = await this.parse(StageDuplicate)
    const { id } = await this.find(stageKind, args.id)
    return this.perform(duplicateStage, { id, name: flags.name }, ({ stage }, output) => presentStage(stage, output))
  }
}
