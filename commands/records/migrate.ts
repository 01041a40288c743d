import { BaseCommand } from '#src/cli/base-command.ts'
import { migrateRecords } from '#src/operations/records.ts'

export default class RecordsMigrate extends BaseCommand {
  static override summary = 'Bring the records to the schema of this version.'
  static override description =
    'A daemon does this itself for the records of a single machine. A PostgreSQL database that an older version has made is migrated only by this command and by serve --migrate, because nodes of that version may be using it. They go on working: within a minor version a migration only adds to the schema.'
  static override examples = [
    { description: 'Migrate before the new version is rolled out', command: '<%= config.bin %> <%= command.id %>' },
    {
      description: 'Print the versions of the schema, before and now',
      command: "<%= config.bin %> <%= command.id %> --json | jq -r '[.from, .to]'",
    },
  ]
  static override exitCodes = [0, 1, 2, 5, 130]

  protected override mayUpgrade = true

  async run() {
    await this.parse(RecordsMigrate)
    return this.perform(migrateRecords, {}, ({ from, to }, output) => {
      output.prose(
        from === to ? `The records have schema ${to} already.` : `Migrated the records from schema ${from} to ${to}.`,
      )
    })
  }
}
