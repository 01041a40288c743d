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

/** Starts a second process with a page store on the same directory. It ends with the test. */
export async function startOther(directory: string): Promise<OtherProcess> {
  const script = fileURLToPath(new URL('other-process.ts', import.meta.url))
  const child = fork(script, [directory], { execArgv: [] })
  const answer = async () => ((await once(child, 'message'))[0] as { value: unknown }).value
  const kill = killWithTest(child)
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

/** Kills a process at the end of the test. Returns a function that kills it earlier; both wait for its exit. */
export function killWithTest(child: ChildProcess): () => Promise<void> {
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)
  return kill
}
