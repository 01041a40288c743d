import * as Args from '@oclif/core/args'
import { BaseCommand } from '#src/cli/base-command.ts'
import { presentConsumed, workerIntroduction } from '#src/cli/present-messenger.ts'
import { needlessYes, symfonyFlags } from '#src/cli/symfony-flags.ts'
import { consumeFlags, toPositive, toSeconds } from '#src/cli/worker-flags.ts'
import { consumeMessages } from '#src/operations/messenger.ts'
import type { OperationEvent } from '#src/operations/operation.ts'

export default class MessengerConsume extends BaseCommand {
  static override summary = 'Process the messages of one or more transports.'
  static override description = `Runs until SIGTERM, SIGINT, messenger:stop-workers or a limit, and finishes the messages in progress; a second signal stops at once.
Without a transport, it takes all of them: async first, then scheduler.
The daemon does the same work unless it was started with --no-workers.`
  static override examples = [
    {
      description: 'Run a worker that a service manager restarts',
      command: '<%= config.bin %> <%= command.id %> async --time-limit 3600 --memory-limit 256M',
    },
    {
      description: 'Process ten messages, scheduled tasks first',
      command: '<%= config.bin %> <%= command.id %> scheduler async --limit 10',
    },
  ]
  static override strict = false
  static override args = {
    receivers: Args.string({ description: 'Transports in order of priority: async, scheduler.', multiple: true }),
  }
  static override flags = { ...symfonyFlags, yes: needlessYes, ...consumeFlags }

  #verbose = false
  /** Called once the queue is open, so that no failure to start follows the announcement. */
  #introduce = (_receivers: readonly string[]) => {}

  async run() {
    const { flags, argv } = await this.parse(MessengerConsume)
    this.#verbose = flags.verbose
    const { limit, 'failure-limit': failureLimit, 'time-limit': time, 'memory-limit': memory } = flags
    const input = {
      receivers: argv as string[],
      limit: toPositive('limit', limit),
      failureLimit: toPositive('failure-limit', failureLimit),
      timeLimit: toPositive('time-limit', time),
      memoryLimit: memory,
      sleep: toSeconds('sleep', flags.sleep),
    }
    this.#introduce = (receivers) => {
      for (const line of workerIntroduction(receivers, { limit, failureLimit, memory, time })) this.tell(line)
    }
    return this.perform(consumeMessages, input, presentConsumed)
  }

  protected override report(event: OperationEvent): void {
    if (event.kind === 'message') super.report(event)
    else if ('receivers' in event.progress) this.#introduce(event.progress['receivers'] as string[])
    else if (this.#verbose) this.tell(String(event.progress['line']))
  }
}
