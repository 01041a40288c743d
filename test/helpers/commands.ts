import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { environment, type CommandResult } from './environment.ts'

const script = fileURLToPath(new URL('command-process.ts', import.meta.url))

/** What a process of `command-process.ts` receives. */
export interface CommandRequest {
  args: readonly string[]
  cwd: string
  env: NodeJS.ProcessEnv
}

/** Processes that have run a command and wait for the next one. Starting a process takes most of the time of a command. They end with this one. */
const idle: ChildProcess[] = []

/** Runs a command in a project. */
export async function runCommand(
  args: readonly string[],
  projectDir: string,
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  return await request({ args, cwd: projectDir, env: environment(projectDir, env) })
}

/** Runs a command of the built program in a process that other commands run in, before and after it but not meanwhile. */
export async function request(command: CommandRequest): Promise<CommandResult> {
  const { args } = command
  const child = idle.pop() ?? startProcess()
  child.ref()
  child.channel!.ref()
  child.send(command)
  const waiting = new AbortController()
  const { signal } = waiting
  try {
    const [result] = (await Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(([code, killer]) => {
        throw new Error(`The process of ${args.join(' ')} ended with ${code ?? killer}.`)
      }),
    ])) as [CommandResult]
    idle.push(child)
    child.unref()
    child.channel!.unref()
    return result
  } finally {
    waiting.abort()
  }
}

function startProcess(): ChildProcess {
  return fork(script, { execArgv: [], env: environment('/'), stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
}
