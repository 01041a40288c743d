import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** Pins a program to the server's core. */
export const onServerCore = onCore(0)
/** Pins a program to the load's core. */
export const onLoadCore = onCore(1)

/**
 * A command that runs a program only while nothing else needs its core: load beside visitors must not delay their program, whose wait
 * would count against the server.
 */
export const whenIdle: [string, ...string[]] = ['chrt', '--idle', '0']

const realTime: [string, ...string[]] = ['chrt', '--fifo', '1']
let isPermitted: boolean | undefined

/**
 * A command that runs the visitors' program, a file for Node, before all others on its core: load that ran `whenIdle` still held it up for
 * up to four milliseconds. Without real-time priority, and with a warning, where the system does not permit that. The program has no helper
 * threads: at the same priority they never get the core while it waits for them in a loop, as V8 does for the end of a collection
 * (docs/decisions/0175-visitors-before-other-load.md).
 */
export function beforeOthers(): readonly string[] {
  isPermitted ??= mayRun(realTime)
  return [...(isPermitted ? realTime : []), process.execPath, '--single-threaded']
}

function mayRun([program, ...given]: typeof realTime): boolean {
  const ran = spawnSync(program, [...given, 'true']).status === 0
  if (!ran)
    console.error(`${program} ${given.join(' ')} is not permitted here, so other load may hold up the visitors.`)
  return ran
}

/**
 * A command that runs a program on one core, at this benchmark's priority. A program with a session of its own has its own scheduling
 * group (see "The autogroup feature" in sched(7)), which would have default priority.
 */
function onCore(core: number): [string, ...string[]] {
  const script = `echo ${groupPriority()} 2>/dev/null >/proc/self/autogroup; exec taskset -c ${core} "$@"`
  return ['sh', '-c', script, 'sh']
}

function groupPriority(): number {
  try {
    return Number(/nice (-?\d+)/.exec(readFileSync('/proc/self/autogroup', 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** Pins this process, its threads and its children to the load's core; throws on a machine with one core. */
export function leaveServerCore(): void {
  // A benchmark that another one runs is pinned already.
  if (cpus().length < 2)
    throw new Error('The benchmark needs two cores, one for the server and one for the load. This machine has one.')
  const moved = spawnSync('taskset', ['-a', '-c', '-p', '1', String(process.pid)], { encoding: 'utf8' })
  if (moved.status !== 0) throw new Error(`taskset: ${moved.stderr || String(moved.error)}`)
}

/** Starts to watch the server's core; the returned function returns the share of time since then in which it was busy (0 to 1). */
export function watchServerCore(): () => number {
  const read = () => {
    const times = cpus()[0]?.times ?? { idle: 0, user: 0, nice: 0, sys: 0, irq: 0 }
    return { idle: times.idle, busy: times.user + times.nice + times.sys + times.irq }
  }
  const before = read()
  return () => {
    const after = read()
    const busy = after.busy - before.busy
    return busy / (busy + after.idle - before.idle)
  }
}

/** Clock ticks per second of /proc, on every Linux that Node runs on. */
const ticksPerSecond = 100

/** The processor time of a process and its threads so far, in seconds. */
export function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}
