import { formatDuration } from '../../lib/format-duration.ts'
import { plural } from '../../lib/plural.ts'
import { recordsExist } from './storage-checks.ts'
import { failed, passed, warned, type Check, type Finding } from './finding.ts'

/** Messages that wait while nobody is there to take them, and those that were given up. */
export const checkQueue: Check = async (app) => {
  if (!(await recordsExist(app))) return []
  try {
    const { transports, workers, failed: givenUp } = await (await app.queue()).statistics()
    const findings: Finding[] = transports
      .filter(
        ({ name, waiting }) =>
          name !== 'failed' && waiting > 0 && !workers.some((worker) => worker.transports.includes(name)),
      )
      .map(({ name, waiting, oldestAge }) =>
        warned(
          'queue',
          `${plural(waiting, 'message')} on ${name}, the oldest for ${formatDuration((oldestAge ?? 0) / 1000)}, and no worker runs`,
          `Start the daemon without --no-workers, or pagecache messenger:consume ${name}.`,
        ),
      )
    if (givenUp > 0)
      findings.push(
        warned(
          'failed messages',
          `${plural(givenUp, 'message')} could not be handled`,
          'pagecache messenger:failed:show says why; messenger:failed:retry tries them again.',
        ),
      )
    return findings.length > 0
      ? findings
      : [passed('queue', `${plural(workers.length, 'worker')}, nothing that nobody takes`)]
  } catch (error) {
    return [
      failed(
        'queue',
        (error as Error).message,
        'The message names what is in the way; mend that, and run pagecache doctor again.',
      ),
    ]
  }
}
