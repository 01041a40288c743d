import type { Diagnosis } from '../../records/postgres/diagnose.ts'
import { attempt, failed, passed, warned, type Check, type Finding } from './finding.ts'

/** Milliseconds. Each purge and event takes several round trips; messages that wait for a time compare clocks. */
const limits = { roundTrip: 10, clock: 1000 }

/** Measures the PostgreSQL server and its notifications. */
export const checkPostgres: Check = async (app) => {
  const { url, listenUrl, pool } = app.config.records
  if (url === null) return []
  return attempt('postgresql', async () => {
    const { diagnose } = await import('../../records/postgres/diagnose.ts')
    const diagnosis = await diagnose({ url, listenUrl, pool })
    return [...judgeServer(diagnosis), ...judgePooler(diagnosis, listenUrl), judgeNotifications(diagnosis)]
  })
}

function judgeServer({ version, roundTrip, clock, isolation, unsafe }: Diagnosis): Finding[] {
  const name = 'postgresql'
  const message = `version ${version}, round trip ${roundTrip.toFixed(1)} ms, clock ${describeClock(clock)}`
  const findings: Finding[] = []
  if (isolation !== 'serializable')
    findings.push(
      failed(
        name,
        `Transactions are ${isolation} although pagecache asks for serializable.`,
        'Use a PostgreSQL server; some compatible products ignore the isolation level.',
      ),
    )
  if (unsafe.length > 0)
    findings.push(
      warned(
        name,
        `${unsafe.join(', ')} ${unsafe.length === 1 ? 'is' : 'are'} off: a crash of the server loses changes that were acknowledged.`,
        'Turn on these settings for this database.',
      ),
    )
  if (roundTrip > limits.roundTrip)
    findings.push(
      warned(
        name,
        `A round trip takes ${roundTrip.toFixed(1)} ms.`,
        'Run PostgreSQL in the same data centre; each purge takes several round trips.',
      ),
    )
  if (Math.abs(clock) > limits.clock)
    findings.push(
      warned(
        name,
        `The clock of its machine is ${describeClock(clock)} compared with this one.`,
        'Synchronise the clocks (NTP).',
      ),
    )
  return findings.length > 0 ? findings : [passed(name, message)]
}

function describeClock(milliseconds: number): string {
  const seconds = Math.abs(milliseconds) / 1000
  const amount = seconds < 10 ? `${Math.round(seconds * 1000)} ms` : `${Math.round(seconds)} s`
  return `${amount} ${milliseconds < 0 ? 'behind' : 'ahead'}`
}

function judgePooler({ isPooled }: Diagnosis, listenUrl: string | null): Finding[] {
  if (!isPooled || listenUrl !== null) return []
  return [
    failed(
      'connection pooler',
      'records.url leads through a connection pooler that gives each transaction another connection.',
      'Set records.listenUrl to a URL of the server itself.',
    ),
  ]
}

function judgeNotifications({ isListenPooled, notification }: Diagnosis): Finding {
  const name = 'postgresql notifications'
  if (notification !== null && !isListenPooled) return passed(name, `arrive after ${notification.toFixed(1)} ms`)
  return warned(
    name,
    `They do not arrive${isListenPooled ? ' through a connection pooler' : ''}, so workers notice new messages up to a quarter of a second later.`,
    'Set records.listenUrl to a URL of the server itself.',
  )
}
