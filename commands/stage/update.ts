import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { exitCodes } from '#src/cli/exit-codes.ts'
import { stageKind } from '#src/cli/find.ts'
import { presentStage } from '#src/cli/present-stage.ts'
import { stageFieldNames, stageFlags, stageInput } from '#src/cli/stage-flags.ts'
import { PagecacheError } from '#src/errors.ts'
import { updateStage } from '#src/operations/stages.ts'
import { givenFields } from '#src/operations/stage-fields.ts'

export default class StageUpdate extends BaseCommand {
  static override summary = 'Change the given settings of a popup stage.'
  static override examples = [
    {
      description: 'Hide a stage',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a --no-active',
    },
    {
      description: 'Keep its events for a year',
      command: '<%= config.bin %> <%= command.id %> 0190c0de-0000-7000-8000-00000000000a --retention-days 365',
    },
  ]
  static override exitCodes = exitCodes.withTarget
  static override fieldNames = stageFieldNames
  static override args = {
    id: Args.string({ description: 'ID of the stage, its beginning, or its name.', required: true }),
  }
  static override flags = {
    name: Flags.string({ summary: 'Name of the stage.', helpValue: '<name>' }),
    ...stageFlags,
  }

  async run() {
    const { args, flags } = await this.parse(StageUpdate)
    const change = { ...givenFields({ name: flags.name }), ...(await stageInput(flags)) }
    if (Object.keys(change).length === 0)
      throw new PagecacheError('USAGE', 'No change given.', {
        hint: 'Pass at least one flag, for example --no-active.',
      })
    const { id } = await this.find(stageKind, args.id)
    return this.perform(updateStage, { id, ...change }, ({ stage }, output) => presentStage(stage, output))
  }
}
