import { fileURLToPath } from 'node:url'
import type { CommandRequest } from './commands.ts'

/** Child process of `runCommand`. Runs the built commands that its parent sends one by one, like `bin/run.js`, and replies with their output. */
const bin = fileURLToPath(new URL('../../bin', import.meta.url))
const { main } = (await import(new URL('../../dist/cli/main.js', import.meta.url).href)) as {
  main(argv: readonly string[], options: { root: string }): Promise<void>
}

const written = { stdout: '', stderr: '' }
for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = (chunk: Uint8Array | string, ...rest: unknown[]) => {
    written[name] += Buffer.from(chunk as string).toString()
    const done = rest.find((each) => typeof each === 'function') as (() => void) | undefined
    if (done) setImmediate(done)
    return true
  }
}

process.on('message', (request: CommandRequest) => void answer(request))

async function answer({ args, cwd, env }: CommandRequest): Promise<void> {
  Object.assign(written, { stdout: '', stderr: '' })
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  process.chdir(cwd)
  process.exitCode = 0
  process.argv.splice(2, Infinity, ...args)
  await main(args, { root: bin })
  process.send!({ code: process.exitCode ?? 0, ...written })
  process.exitCode = 0
}
