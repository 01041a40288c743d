import { BaseCommand } from '#src/cli/base-command.ts'
import { doctor } from '#src/operations/doctor.ts'

const signs = { passed: 'ok  ', warned: 'warn', failed: 'FAIL' }
const colors = { passed: 'green', warned: 'yellow', failed: 'red' } as const

export default class Doctor extends BaseCommand {
  static override summary = 'Diagnose configuration, storage and network problems.'
  static override description = 'Exits with 1 if a check failed, with 0 if there are only warnings.'
  static override examples = [
    {
      description: 'Run all checks',
      command: '<%= config.bin %> <%= command.id %>',
    },
    {
      description: 'List the failed checks in a script',
      command:
        '<%= config.bin %> <%= command.id %> --json | jq -r \'.checks[] | select(.status == "failed") | .message\'',
    },
  ]

  protected override tolerateFaults = true
  protected override reportsMismatch = false

  async run() {
    await this.parse(Doctor)
    const value = await this.perform(doctor, {}, async ({ checks }, output) => {
      for (const { name, status, message, remedy } of checks) {
        await output.hanging(`${signs[status]}  `, `${name}: ${message}`, colors[status])
        if (remedy) await output.hanging('      ', remedy)
      }
      const count = (wanted: keyof typeof signs) => checks.filter(({ status }) => status === wanted).length
      output.line()
      output.prose(`${count('passed')} passed, ${count('warned')} with a warning, ${count('failed')} failed.`)
    })
    if (!value.success) process.exitCode = 1
    return value
  }
}
