import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { getPriority } from 'node:os'

/** Running child processes of a process, oldest first (Linux). */
export async function childrenOf(pid: number): Promise<number[]> {
  return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').filter(Boolean).map(Number)
}

/** Whether a process has exited, even if its parent has not reaped it yet. */
export async function isGone(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  return status === null || status.slice(status.lastIndexOf(')') + 2).startsWith('Z')
}

/** CPU time of a process in ms, in steps of 10 (Linux). It tells how far a process has come better than wall-clock time does. */
export async function cpuOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = status.slice(status.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** How far the threads of a process are below its main thread in priority, by their names (Linux). */
export function lowerPriorities(pid: number): Record<string, number[]> {
  const threads = readdirSync(`/proc/${pid}/task`)
  const named = threads.map((id) => ({
    name: readFileSync(`/proc/${pid}/task/${id}/comm`, 'latin1').trim(),
    by: getPriority(Number(id)) - getPriority(pid),
  }))
  return Object.fromEntries(
    named.map(({ name }) => [name, named.filter((each) => each.name === name).map(({ by }) => by)]),
  )
}
