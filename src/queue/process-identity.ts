import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** What names a process of this machine for ever: a process id alone is used again. */
export interface ProcessIdentity {
  host: string
  /** Null where the system does not tell (no /proc): then nobody can see from outside whether the process lives. */
  bootId: string | null
  /** Containers on one machine share its boot, and each counts process ids of its own. */
  pidNamespace: string | null
  pid: number
  /** In clock ticks since boot. */
  started: string | null
}

export function thisProcess(): ProcessIdentity {
  const { pid } = process
  const started = startOf(pid)
  return {
    host: hostname(),
    bootId: read(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    pidNamespace: read(() => readlinkSync('/proc/self/ns/pid')),
    pid,
    started: started === 'gone' ? null : started,
  }
}

/** True only where it is certain that the process has ended; one that is stopped (SIGSTOP) has not. */
export function hasEnded(other: ProcessIdentity, self: ProcessIdentity): boolean {
  const comparable =
    other.bootId !== null &&
    other.bootId === self.bootId &&
    other.pidNamespace !== null &&
    other.pidNamespace === self.pidNamespace
  if (!comparable || other.started === null) return false
  const started = startOf(other.pid)
  return started !== null && started !== other.started
}

/** Whether two names are of one process. */
export function isSame(one: ProcessIdentity, other: ProcessIdentity): boolean {
  return (
    one.host === other.host &&
    one.bootId === other.bootId &&
    one.pidNamespace === other.pidNamespace &&
    one.pid === other.pid &&
    one.started === other.started
  )
}

/** When the process with this id started; null where that cannot be known. */
function startOf(pid: number): string | 'gone' | null {
  try {
    return startIn(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ESRCH' ? 'gone' : null
  }
}

/** The 22nd field of proc(5)'s stat; the second, the program's name, may hold blanks and brackets. */
export function startIn(stat: string): string | 'gone' | null {
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // A killed process whose parent has not asked for its end.
  if (state === 'Z' || state === 'X') return 'gone'
  return fields[18] ?? null
}

function read(attempt: () => string): string | null {
  try {
    return attempt()
  } catch {
    return null
  }
}
