import { formatDuration, plural } from '../../lib/format.ts'
import { attempt, passed, warned, type Check, type Finding } from './finding.ts'
import { recordsExist } from './storage-checks.ts'

/** Finds transports whose messages no worker processes, and failed messages. */
export const checkQueue: Check = async (app) => {
  if (!(await recordsExist(app))) return []
  return attempt('queue', async () => {
    const { transports, workers, failed } = await (await app.queue()).statistics()
    const findings: Finding[] = transports
      .filter(
        ({ name, waiting }) =>
          name !== 'failed' && waiting > 0 && !workers.some((worker) => worker.transports.includes(name)),
      )
      .map(({ name, waiting, oldestAge }) =>
        warned(
          'queue',
          `${plural(waiting, 'message')} on ${name}, the oldest for ${formatDuration((oldestAge ?? 0) / 1000)}, but no worker is running`,
          `Start the daemon without --no-workers, or pagecache messenger:consume ${name}.`,
        ),
      )
    if (failed > 0)
      findings.push(
        warned(
          'failed messages',
          plural(failed, 'failed message'),
          'pagecache messenger:failed:show gives the reasons, messenger:failed:retry retries them.',
        ),
      )
    return findings.length > 0
      ? findings
      : [passed('queue', `${plural(workers.length, 'worker')}, no unclaimed messages`)]
  })
}
