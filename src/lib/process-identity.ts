import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Identifies a process permanently; a process id alone is reused. */
export interface ProcessIdentity {
  host: string
  /** Null without /proc: then no other process can tell whether this one is alive. */
  bootId: string | null
  /** Containers on one machine share its boot id, but have process ids of their own. */
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

/** True only if the process has certainly ended; a suspended process (SIGSTOP) has not. */
export function hasEnded(other: ProcessIdentity, self: ProcessIdentity): boolean {
  if (!isVisible(other, self)) return false
  const started = startOf(other.pid)
  return started !== null && started !== other.started
}

/** True only if the process certainly exists; it may be suspended. */
export function isRunning(other: ProcessIdentity, self: ProcessIdentity): boolean {
  return isVisible(other, self) && startOf(other.pid) === other.started
}

/** Whether its process ID means the same process in both places. */
function isVisible(other: ProcessIdentity, self: ProcessIdentity): boolean {
  const shareNumbers =
    other.bootId !== null &&
    other.bootId === self.bootId &&
    other.pidNamespace !== null &&
    other.pidNamespace === self.pidNamespace
  return shareNumbers && other.started !== null
}

/** Whether both identities name the same process. */
export function isSame(one: ProcessIdentity, other: ProcessIdentity): boolean {
  return (
    one.host === other.host &&
    one.bootId === other.bootId &&
    one.pidNamespace === other.pidNamespace &&
    one.pid === other.pid &&
    one.started === other.started
  )
}

/** The start time of the process with this id in clock ticks since boot; null if it is unknown. */
function startOf(pid: number): string | 'gone' | null {
  try {
    return startIn(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return (code === 'ENOENT' || code === 'ESRCH') && !isHidden(pid) ? 'gone' : null
  }
}

/** Whether a process with this id exists that /proc hides, because it belongs to another user (`hidepid`, systemd's `ProtectProc`). */
function isHidden(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** The start time in the text of /proc/<pid>/stat: its 22nd field. The second field, the program's name, may contain spaces and brackets. */
export function startIn(stat: string): string | 'gone' | null {
  const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // A zombie: it has ended, but its parent has not waited for it.
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
