import type { Server } from './server.ts'

/** What an operator should know about the server of the shared pages. */
export interface ServerHealth {
  /** Such as `Redis 7.0.15` or `Valkey 8.1.0`. */
  product: string
  /** Whether it has every command that is used (Redis 6.2). */
  isRecent: boolean
  /** Median of a few answers, in milliseconds. */
  latency: number
  /** `maxmemory-policy`, if there is a limit; null without one. */
  evicts: string | null
}

const samples = 5

/** Asks the server about itself and tries to write. @throws Error when it does not answer or refuses */
export async function examine(server: Server): Promise<ServerHealth> {
  const times: number[] = []
  for (let count = 0; count < samples; count++) {
    const started = performance.now()
    await server.run('info', ['PING'])
    times.push(performance.now() - started)
  }
  const name = server.names('write').lock('doctor')
  await server.run('write', ['SET', name, '1', 'PX', '1000'])
  await server.run('write', ['DEL', name])
  const facts = factsIn(String(await server.run('info', ['INFO', 'everything'])))
  const version = facts.get('redis_version') ?? '0'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const valkey = facts.get('valkey_version')
  return {
    product: valkey === undefined ? `Redis ${version}` : `Valkey ${valkey}`,
    isRecent: major > 6 || (major === 6 && minor >= 2),
    latency: times.toSorted((one, other) => one - other)[Math.floor(samples / 2)]!,
    evicts: Number(facts.get('maxmemory') ?? 0) > 0 ? (facts.get('maxmemory_policy') ?? null) : null,
  }
}

function factsIn(text: string): Map<string, string> {
  return new Map(text.split(/\r?\n/).map((line) => line.split(':', 2) as [string, string]))
}
