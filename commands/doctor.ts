import { BaseCommand } from '#src/cli/base-command.ts'
import { doctor } from '#src/operations/doctor.ts'

const signs = { passed: 'ok  ', warned: 'warn', failed: 'FAIL' }

export default class Doctor extends BaseCommand {
  static override summary = 'Check everything that can be wrong, and say what to do about it.'
  static override description = 'Exit code 1 if a check failed; a warning alone is 0.'
  static override examples = [
    {
      description: 'Before the first start, and whenever something is odd',
      command: '<%= config.bin %> <%= command.id %>',
    },
    {
      description: 'What failed, for a script',
      command:
        '<%= config.bin %> <%= command.id %> --json | jq -r \'.checks[] | select(.status == "failed") | .message\'',
    },
  ]

  protected override tolerateFaults = true

  async run() {
    await this.parse(Doctor)
    const value = await this.perform(doctor, {}, ({ checks }, output) => {
      for (const { name, status, message, remedy } of checks) {
        for (const [index, line] of message.split('\n').entries())
          output.line(index === 0 ? `${signs[status]}  ${name}: ${line}` : `      ${line}`)
        if (remedy) output.line(`      ${remedy}`)
      }
    })
    if (!value.success) process.exitCode = 1
    return value
  }
}
