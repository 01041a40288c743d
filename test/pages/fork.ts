import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Command } from './other-process.ts'

export interface OtherProcess {
  ask(command: Command): Promise<unknown>
  /** Sends SIGKILL and waits for the exit. */
  kill(): Promise<void>
}

/** Starts a script of this folder in a process that is killed at the end of the test. */
export function forkScript(name: string, args: readonly string[]): { child: ChildProcess; kill(): Promise<void> } {
  const child = fork(fileURLToPath(new URL(name, import.meta.url)), args, { execArgv: [] })
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)
  return { child, kill }
}

/** Starts a second process with a page store on the same directory. It ends with the test. */
export async function startOther(directory: string): Promise<OtherProcess> {
  const { child, kill } = forkScript('other-process.ts', [directory])
  const answer = async () => ((await once(child, 'message'))[0] as { value: unknown }).value
  await answer()
  return {
    async ask(command) {
      const answered = answer()
      child.send(command)
      return answered
    },
    kill,
  }
}
