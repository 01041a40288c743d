import { readFile } from 'node:fs/promises'

/** The processes that a process has started and that are still there, the oldest first (Linux). */
export async function childrenOf(pid: number): Promise<number[]> {
  return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').filter(Boolean).map(Number)
}

/** Whether a process has ended, though its parent may not have noticed yet. */
export async function isGone(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  return status === null || status.slice(status.lastIndexOf(')') + 2).startsWith('Z')
}

/** Milliseconds that a process has computed, to the hundredth of a second (Linux); what it does next is a question of that, not of the time. */
export async function cpuOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = status.slice(status.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}
