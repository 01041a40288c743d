import { random } from '../helpers/random.ts'
import { HttpClient } from './requests.ts'
import { Oracle } from './oracle.ts'
import { lease, startServers, strictNodes, type Machine, type NodeName, type Servers } from './servers.ts'
import { Troubles } from './troubles.ts'

/** A run of the check: the servers, what is known of them, and what was done so far. */
export interface Run {
  servers: Servers
  oracle: Oracle
  troubles: Troubles
  clients: ReadonlyMap<NodeName | 'varnish', HttpClient>
  /** Milliseconds since the start. */
  now(): number
  isSecondHalf(): boolean
  /** A source of random numbers for one part of the check, the same for a seed. */
  random(part: number): () => number
  /** Ends the writers, readers and faults. */
  over: AbortSignal
  client: { clientId: string; clientSecret: string }
  stage: string
}

/** How often the check looks whether it was itself kept waiting, in milliseconds. */
const stallEvery = 50

export interface OpenRun extends Run {
  end(): void
  close(): Promise<void>
}

export async function openRun(seed: number, program: string | null, duration: number): Promise<OpenRun> {
  let began = performance.now()
  const now = () => performance.now() - began
  const part = (number: number) => random(seed * 1_000 + number)
  const oracle = new Oracle(now, strictNodes)
  const servers = await startServers((path) => oracle.version(path), part(1), program)
  try {
    const [first, ...others] = servers.machines.slice(0, 3) as [Machine, ...Machine[]]
    await servers.start(first)
    await Promise.all(others.map((machine) => servers.start(machine)))
    const { daemon } = first
    const client = await made(daemon!.run('client:create', 'check', '--json'))
    const { stage } = (await made(daemon!.run('stage:create', 'Sale', '--json'))) as { stage: { id: string } }
    const clients = new Map<NodeName | 'varnish', HttpClient>(
      [...servers.machines, { name: 'varnish' as const, url: servers.varnish.url }].map(({ name, url }) => [
        name,
        new HttpClient(url),
      ]),
    )
    began = performance.now()
    const troubles = new Troubles(now)
    const stalls = watchStalls(troubles, now)
    const end = new AbortController()
    return {
      servers,
      oracle,
      troubles,
      clients,
      now,
      isSecondHalf: () => now() > duration / 2,
      random: part,
      over: end.signal,
      client: client as Run['client'],
      stage: stage.id,
      end: () => end.abort(),
      async close() {
        clearInterval(stalls)
        for (const each of clients.values()) each.close()
        await servers.stop()
      },
    }
  } catch (error) {
    await servers.stop()
    throw error
  }
}

async function made(running: Promise<{ code: number | null; stdout: string; stderr: string }>): Promise<unknown> {
  const { code, stdout, stderr } = await running
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as unknown
}

/** While this process gets no processor time, neither may the nodes. */
function watchStalls(troubles: Troubles, now: () => number): NodeJS.Timeout {
  let last = now()
  return setInterval(() => {
    if (now() - last > stallEvery + lease / 4) everyNode((name) => troubles.saw(name, last))
    last = now()
  }, stallEvery)
}

function everyNode(work: (name: NodeName) => void): void {
  for (const name of ['one', 'two', 'three', 'four'] as const) work(name)
}

/** The machines whose daemons are running, as far as the check knows. */
export function running({ servers }: Run): Machine[] {
  return servers.machines.filter(({ daemon }) => daemon !== null)
}
