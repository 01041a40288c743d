/**
 * Compares `GET /stats` with a token on the daemon with a bare h3 handler that returns the same JSON, in requests per second, one core
 * each. Target: a ratio of 0.6.
 *
 *     npm run build && npx node bench/api.ts [--rounds 5] [--seconds 3] [--json]
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bearer, createClient, fetchToken, prefix } from '../test/helpers/api-client.ts'
import { startChild, answers } from '../test/helpers/child.ts'
import { freePort, startDaemon } from '../test/helpers/daemon.ts'
import { exchange } from '../test/helpers/exchange.ts'
import { leaveServerCore, onServerCore } from './lib/cores.ts'
import { median, withRange } from './lib/statistics.ts'
import { load } from './lib/wrk.ts'

const goal = 0.6
const connections = 32
const path = `${prefix}/stats`

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)

leaveServerCore()
const daemon = await startDaemon({ prefix: onServerCore, args: ['--no-workers'] })
try {
  const headers = { ...bearer(await fetchToken(daemon.url, await createClient(daemon, 'bench'))) }
  const answer = await exchange(daemon.url + path, { headers })
  if (answer.status !== 200) throw new Error(`${path} answers ${answer.status}`)
  const port = await freePort()
  const bareUrl = `http://127.0.0.1:${port}${path}`
  const program = fileURLToPath(new URL('lib/bare-h3.ts', import.meta.url))
  const bare = await startChild([...onServerCore, process.execPath, program, String(port), answer.body.toString()], {
    ready: () => answers(bareUrl),
  })
  try {
    await measure(daemon.url + path, bareUrl, headers)
  } finally {
    await bare.stop()
  }
} finally {
  await daemon.stop()
}

async function measure(ours: string, bare: string, headers: Record<string, string>): Promise<void> {
  // Not counted: V8 compiles meanwhile.
  for (const url of [ours, bare]) await load({ url, headers, connections, seconds: 6 })
  const rates: { ours: number; bare: number }[] = []
  for (let round = 0; round < rounds; round++) {
    const rate = async (url: string) => (await load({ url, headers, connections, seconds })).requestsPerSecond
    rates.push({ ours: await rate(ours), bare: await rate(bare) })
  }
  // Ratios are taken per round, so that other load on the machine affects both sides.
  const ratios = rates.map((round) => round.ours / round.bare)
  const ratio = median(ratios)
  if (values.json) return console.log(JSON.stringify({ rounds: rates, seconds, ratio }))
  console.log(
    `GET /stats with a token: ${withRange(
      rates.map((round) => round.ours),
      0,
    )} per second`,
  )
  console.log(
    `a bare h3 handler:       ${withRange(
      rates.map((round) => round.bare),
      0,
    )} per second`,
  )
  console.log(`ratio ${withRange(ratios, 2)}, target ${goal}: ${ratio >= goal ? 'met' : 'MISSED'}`)
}
