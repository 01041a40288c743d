import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '#src/cli/base-command.ts'
import { toPositive } from '#src/cli/positive.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { PagecacheError } from '#src/errors.ts'
import { plural } from '#src/lib/plural.ts'
import { consumeMessages, toReceivers } from '#src/operations/messenger.ts'
import type { OperationEvent } from '#src/operations/operation.ts'

export default class MessengerConsume extends BaseCommand {
  static override summary = 'Work on the messages of one or more transports.'
  static override description = `Runs until it gets SIGTERM or SIGINT (it finishes the messages in hand; a second signal leaves at once), until
messenger:stop-workers, or until a limit is reached. Without a transport it takes all: async first, then scheduler. The
daemon does the same inside itself unless it was started with --no-workers.`
  static override examples = [
    {
      description: 'A consumer for a service manager to keep alive',
      command: '<%= config.bin %> <%= command.id %> async --time-limit 3600 --memory-limit 256M',
    },
    {
      description: 'Ten messages, those of the scheduler first',
      command: '<%= config.bin %> <%= command.id %> scheduler async --limit 10',
    },
  ]
  static override strict = false
  static override args = {
    receivers: Args.string({ description: 'Transports in order of priority: async, scheduler.', multiple: true }),
  }
  static override flags = {
    ...symfonyFlags,
    yes: needlessYes,
    limit: Flags.string({ char: 'l', summary: 'End after so many messages.', helpValue: '<n>' }),
    'failure-limit': Flags.string({ char: 'f', summary: 'End after so many failures.', helpValue: '<n>' }),
    'time-limit': Flags.string({
      char: 't',
      summary: 'Take no more messages after so many seconds.',
      helpValue: '<seconds>',
    }),
    'memory-limit': Flags.string({
      char: 'm',
      summary: 'End when the process takes more memory than this.',
      helpValue: '<size>',
    }),
    sleep: Flags.string({
      summary: 'Seconds between two looks at an empty queue; without it new messages are noticed at once.',
      helpValue: '<seconds>',
    }),
    verbose: Flags.boolean({ char: 'v', summary: 'Tell each message that was handled.' }),
  }

  #verbose = false

  async run() {
    const { flags, argv } = await this.parse(MessengerConsume)
    this.#verbose = flags.verbose
    const input = {
      receivers: argv as string[],
      limit: toPositive('limit', flags.limit),
      failureLimit: toPositive('failure-limit', flags['failure-limit']),
      timeLimit: toPositive('time-limit', flags['time-limit']),
      memoryLimit: flags['memory-limit'],
      sleep: toSeconds(flags.sleep),
    }
    // Elsewhere it is refused.
    if ((await this.remote()) === null) this.#introduce(input.receivers, flags)
    return this.perform(consumeMessages, input, ({ messages, failures, end }, output) => {
      output.line(
        `${plural(messages, 'message')}${failures > 0 ? `, ${plural(failures, 'failure')}` : ''}; ${reasons[end]}.`,
      )
    })
  }

  protected override report(event: OperationEvent): void {
    if (event.kind === 'message') super.report(event)
    else if (this.#verbose) this.tell(String(event.progress['line']))
  }

  #introduce(receivers: readonly string[], flags: Record<string, unknown>): void {
    const names = toReceivers(receivers)
    this.tell(`[OK] Consuming messages from transport${names.length > 1 ? 's' : ''} "${names.join(', ')}".`)
    const conditions = [
      ...(flags['limit'] === undefined ? [] : [`processed ${String(flags['limit'])} messages`]),
      ...(flags['failure-limit'] === undefined ? [] : [`reached ${String(flags['failure-limit'])} failed messages`]),
      ...(flags['memory-limit'] === undefined ? [] : [`exceeded ${String(flags['memory-limit'])} of memory`]),
      ...(flags['time-limit'] === undefined ? [] : [`been running for ${String(flags['time-limit'])}s`]),
      'received a stop signal via the messenger:stop-workers command',
    ]
    const last = conditions.pop()
    this.tell(
      `// The worker will automatically exit once it has ${conditions.length === 0 ? '' : `${conditions.join(', ')} or `}${last}.`,
    )
    this.tell('// Quit the worker with CONTROL-C.')
  }
}

const reasons = {
  stopped: 'told to stop',
  'stop-workers': 'stopped by messenger:stop-workers',
  messages: 'the limit is reached',
  failures: 'the failure limit is reached',
  time: 'the time limit is reached',
  memory: 'the memory limit is exceeded',
}

function toSeconds(given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  if (/^\d{1,9}(\.\d{1,6})?$/.test(given)) return Number(given)
  throw new PagecacheError('USAGE', `--sleep: expected a number of seconds, not ${JSON.stringify(given)}`)
}
