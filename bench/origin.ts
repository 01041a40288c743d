/**
 * Claim: our client for shops costs little more than its sockets, and far less than undici.
 *
 *   npx node bench/origin.ts [--rounds 3] [--seconds 2] [--connections 32] [--json]
 *
 * One client at a time runs on core 0, against a shop on core 1 that costs as little as possible. Prints medians.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { leaveServerCore, onLoadCore, onServerCore } from './lib/cores.ts'
import { median } from './lib/statistics.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '32' },
    json: { type: 'boolean', default: false },
  },
})
const sizes = [2, 20_000]
const clients = ['ours', 'undici', 'floor'] as const
type Name = (typeof clients)[number]

const program = (name: string) => fileURLToPath(new URL(`lib/${name}.ts`, import.meta.url))

async function measure(name: Name, port: string, size: number): Promise<number> {
  const [taskset, ...pinned] = onServerCore
  const argv = [...pinned, process.execPath, program('origin-client'), name, port, String(size), values.connections]
  const { stdout } = await promisify(execFile)(taskset, [...argv, values.seconds])
  return Number(stdout)
}

leaveServerCore()
const [taskset, ...pinned] = onLoadCore
const shop = spawn(taskset, [...pinned, process.execPath, program('raw-shop'), ...sizes.map(String)], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const [line] = (await once(shop.stdout, 'data')) as [Buffer]
  const ports = String(line).trim().split(' ')
  for (const [index, size] of sizes.entries()) {
    const rates: Record<Name, number[]> = { ours: [], undici: [], floor: [] }
    for (let round = 0; round < Number(values.rounds); round++)
      for (const name of clients) rates[name].push(await measure(name, ports[index]!, size))
    const ratio = (rival: Name) => median(rates.ours.map((rate, round) => rate / rates[rival][round]!))
    const row = {
      size,
      ...Object.fromEntries(clients.map((name) => [name, Math.round(median(rates[name]))])),
      oursToUndici: Number(ratio('undici').toFixed(2)),
      oursToFloor: Number(ratio('floor').toFixed(2)),
    }
    if (values.json) process.stdout.write(`${JSON.stringify(row)}\n`)
    else console.table([row])
  }
} finally {
  shop.kill()
}
