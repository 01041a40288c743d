import { setTimeout as sleep } from 'node:timers/promises'
import { pick } from '../helpers/random.ts'
import { running, type Run } from './run.ts'
import { clearPages, type Machine } from './servers.ts'

/** Breaks something for a while and mends it. `next`: random numbers. */
type Fault = (run: Run, next: () => number) => Promise<void>

/** How often each fault was made. */
export type FaultCounts = Record<string, number>

/** Pauses between two faults of one sequence, in milliseconds. */
const pause = 1_500

/** From a fifth of a second up to this many milliseconds. */
const duration = (next: () => number, most: number) => 200 + next() * (most - 200)

/** Nodes that a fault is being made for: another one must not start or stop them meanwhile. */
const taken = new Set<Machine>()

/** Makes a fault for a running node that no other fault has. */
function forNode(work: (run: Run, machine: Machine, next: () => number) => Promise<void>, mayStop = false): Fault {
  return async (run, next) => {
    // In the second half the memory of the first two nodes is watched, so they are not restarted.
    const all = running(run).filter(
      (machine) => !taken.has(machine) && !(mayStop && run.isSecondHalf() && isWatched(machine)),
    )
    if (all.length === 0) return
    const machine = pick(next, all)
    taken.add(machine)
    const end = run.troubles.begin(machine.name)
    run.oracle.note(null, `it is node ${machine.name}`)
    try {
      await work(run, machine, next)
    } finally {
      end()
      taken.delete(machine)
    }
  }
}

const isWatched = ({ name }: Machine) => name === 'one' || name === 'two'

/** Makes a fault that concerns all nodes. */
function forAll(work: (run: Run, next: () => number) => Promise<void>): Fault {
  return async (run, next) => {
    const ends = run.servers.machines.map(({ name }) => run.troubles.begin(name))
    await work(run, next).finally(() => ends.forEach((end) => end()))
  }
}

async function restart({ servers }: Run, machine: Machine, next: () => number): Promise<void> {
  await sleep(next() * 2_000)
  if (next() < 0.25) await clearPages(machine)
  await servers.start(machine)
}

async function endDaemon(machine: Machine, signal: NodeJS.Signals): Promise<void> {
  const daemon = machine.daemon!
  machine.daemon = null
  daemon.kill(signal)
  await daemon.ended
}

const cut = (service: 'postgres' | 'redis') =>
  forNode(async (run, machine, next) => {
    const mode = pick(next, ['silent', 'refusing', 'half', 'slow'] as const)
    run.oracle.note(null, `connections of ${machine.name} to ${service}: ${mode}`)
    if (mode === 'half') machine[service].halfClose(pick(next, ['client', 'server']))
    else await machine[service].set(mode === 'slow' ? { slow: 20 + next() * 300 } : mode)
    await sleep(duration(next, 8_000))
    await machine[service].set('open')
  })

/** The fault after which only the margin of leases keeps old pages from visitors. */
export const cutOff = 'a node is cut off from PostgreSQL'

const faults: Record<string, Fault> = {
  'a node is killed': forNode(async (run, machine, next) => {
    await endDaemon(machine, 'SIGKILL')
    await restart(run, machine, next)
  }, true),
  'a node leaves and returns': forNode(async (run, machine, next) => {
    await endDaemon(machine, 'SIGTERM')
    await restart(run, machine, next)
  }, true),
  'a fourth node joins and leaves': async (run, next) => {
    const fourth = run.servers.machines[3]!
    if (fourth.daemon !== null || taken.has(fourth)) return
    taken.add(fourth)
    const end = run.troubles.begin(fourth.name)
    await restart(run, fourth, next)
    end()
    taken.delete(fourth)
    await sleep(duration(next, 10_000))
    while (taken.has(fourth)) await sleep(10)
    taken.add(fourth)
    const ended = run.troubles.begin(fourth.name)
    await endDaemon(fourth, pick(next, ['SIGTERM', 'SIGKILL']))
    ended()
    taken.delete(fourth)
  },
  'a node is frozen': forNode(async (_run, machine, next) => {
    machine.daemon!.kill('SIGSTOP')
    await sleep(duration(next, 5_000))
    machine.daemon!.kill('SIGCONT')
  }),
  'a node is frozen for a moment': forNode(async (_run, machine, next) => {
    for (let times = 0; times < 5; times += 1) {
      machine.daemon!.kill('SIGSTOP')
      await sleep(next() * 1_200)
      machine.daemon!.kill('SIGCONT')
      await sleep(next() * 200)
    }
  }),
  [cutOff]: cut('postgres'),
  'a node is cut off from Redis': cut('redis'),
  'PostgreSQL stops at once and starts': forAll(({ servers }) => servers.postgres.crash()),
  // The other hand may have killed it.
  'Redis is flushed': async ({ servers }) => void (await servers.redis.run('FLUSHALL').catch(() => null)),
  'Redis is killed and starts': async ({ servers }, next) => {
    await servers.redis.kill()
    await sleep(duration(next, 4_000))
    await servers.redis.start()
  },
  'Varnish is unreachable': async ({ servers }, next) => {
    await servers.toVarnish.set(pick(next, ['silent', 'refusing']))
    await sleep(duration(next, 3_000))
    await servers.toVarnish.set('open')
  },
}

/** The faults in a random order, all before any of them again. */
function* shuffled(next: () => number, only: string | null): Generator<string> {
  for (;;) {
    const names = only === null ? Object.keys(faults) : [only]
    while (names.length > 0) yield names.splice(Math.floor(next() * names.length), 1)[0]!
  }
}

/** Makes one fault after another until the run is over, by two hands: two faults may coincide. `only`: one fault again and again. */
export async function disturb(run: Run, counts: FaultCounts, only: string | null): Promise<void> {
  const order = shuffled(run.random(50), only)
  const busy = new Set<string>()
  await Promise.all([51, 52].map((part) => hand(run, { order, busy, counts }, run.random(part))))
}

async function hand(
  run: Run,
  { order, busy, counts }: { order: Iterator<string>; busy: Set<string>; counts: FaultCounts },
  next: () => number,
): Promise<void> {
  while (!run.over.aborted) {
    const name = order.next().value as string
    if (!busy.has(name)) {
      busy.add(name)
      run.oracle.note(null, `${name}: begins`)
      await faults[name]!(run, next)
      run.oracle.note(null, `${name}: is over`)
      counts[name] = (counts[name] ?? 0) + 1
      busy.delete(name)
    }
    await sleep(next() * pause)
  }
}
