import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Question } from './other-process.ts'

export interface OtherProcess {
  ask(question: Question): Promise<unknown>
  /** SIGKILL, and waits until it is dead. */
  kill(): Promise<void>
}

/** A second process with a page store on the same directory; ended when the test is over. */
export async function startOther(directory: string): Promise<OtherProcess> {
  const script = fileURLToPath(new URL('other-process.ts', import.meta.url))
  const child = fork(script, [directory], { execArgv: [] })
  const answer = async () => ((await once(child, 'message'))[0] as { value: unknown }).value
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)
  await answer()
  return {
    async ask(question) {
      const answered = answer()
      child.send(question)
      return answered
    },
    kill,
  }
}
