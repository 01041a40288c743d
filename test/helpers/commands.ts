import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { environment, type CommandResult } from './daemon.ts'

const script = fileURLToPath(new URL('command-process.ts', import.meta.url))

/** One process that runs many commands. Starting a process for each command takes most of its time. */
export interface Commands {
  run(...args: string[]): Promise<CommandResult>
  stop(): Promise<void>
}

export async function openCommands(projectDir: string, env: Readonly<Record<string, string>> = {}): Promise<Commands> {
  const child = fork(script, {
    env: environment(projectDir, env),
    cwd: projectDir,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit')
  const answer = async <T>() => {
    const [value] = (await Promise.race([
      once(child, 'message'),
      ended.then(([code]) => Promise.reject(new Error(`The process of the commands ended with ${code}.`))),
    ])) as [T]
    return value
  }
  await answer()
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(...args) {
      const result = last.then(() => {
        child.send(args)
        return answer<CommandResult>()
      })
      last = result.catch(() => {})
      return result
    },
    async stop() {
      child.disconnect()
      child.kill()
      await ended
    },
  }
}
