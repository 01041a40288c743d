import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { stageKind } from '#src/cli/find.ts'
import { presentPreview } from '#src/cli/present-stage.ts'
import { previewStage } from '#src/operations/stages.ts'

export default class StagePreview extends BaseCommand {
  static override summary = 'Make links that show a popup stage in the shop, without counting.'
  static override description =
    'The stage is shown even if it is off or outside its time window. Its triggers apply. Anyone who has the link can use it for an hour.'
  static override examples = [
    { description: 'Show a stage on the home page', command: '<%= config.bin %> <%= command.id %> Summer' },
    { description: 'Show it on another page', command: '<%= config.bin %> <%= command.id %> Summer --path /shoes' },
  ]
  static override exitCodes = exitCodes.withTarget
  static override args = {
    id: Args.string({ description: 'ID of the stage, its beginning, or its name.', required: true }),
  }
  static override flags = {
    path: Flags.string({ summary: 'Path of the page that shows it.', helpValue: '<path>', default: '/' }),
  }

  async run() {
    const { args, flags } = await this.parse(StagePreview)
    const { id } = await this.find(stageKind, args.id)
    return this.perform(previewStage, { id, path: flags.path }, presentPreview)
  }
}
