import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { until } from './until.ts'
import { startChild, type Child } from './child.ts'
import { freePort, isFree } from './daemon.ts'
import { installed } from './rivals.ts'
import { scratch } from './scratch.ts'

const document = (name: string) => readFileSync(fileURLToPath(new URL(`../../docs/${name}`, import.meta.url)), 'utf8')
/** The documented VCL. */
export const documentedVcl = document('varnish.vcl')
/** The documented VCL with the subroutine that docs/varnish.md has for Varnish 6.0. */
export const oldVcl = documentedVcl.replace(
  /^sub ban_pages \{[^]*?^\}\n/m,
  () => /```vcl\n(sub ban_pages \{[^]*?)```/.exec(document('varnish.md'))![1]!,
)

/** The Varnish that the tests run: `VARNISHD` names the program of another version, with `varnishadm` or `vinyladm` in `../bin` or beside it. */
const program = process.env['VARNISHD'] ?? 'varnishd'
const adminProgram = basename(program) === 'vinyld' ? 'vinyladm' : 'varnishadm'
const environment = {
  ...process.env,
  PATH: [
    ...(isAbsolute(program) ? [dirname(program), join(dirname(program), '../bin')] : []),
    process.env['PATH'],
    '/usr/sbin',
    '/sbin',
  ].join(':'),
}

/** Whether a Varnish is there to be tested. */
export const hasVarnish = installed(program)

/** The VCL that the documentation has for this Varnish. */
const itsVcl = /varnish-6\./.test(spawnSync(program, ['-V'], { env: environment, encoding: 'utf8' }).stderr)
  ? oldVcl
  : documentedVcl

/** A Varnish with the documented VCL in front of an origin. It can fail in the ways in which proxies fail. */
export interface Varnish {
  url: string
  port: number
  /** Suspends both of its processes; their sockets stay open. */
  freeze(): void
  thaw(): void
  /** Sends SIGKILL, which loses its cache. */
  kill(): Promise<void>
  /** Starts it again at the same address, with an empty cache. */
  start(): Promise<void>
  /** Runs a command of its management interface, such as `vcl.list`, and returns the output. */
  admin(...command: string[]): Promise<string>
  /** Kills the worker process. The manager process restarts it with an empty cache. */
  restartChild(): Promise<void>
  /** Path of the VCL that it was started with. */
  vclFile: string
  stop(): Promise<void>
}

/** @param backend `host:port` that it fetches from; `edit` changes the VCL; `prefix` is the command to run Varnish with; `vcl` replaces the documented one */
export async function startVarnishProxy(
  backend: string,
  edit: (vcl: string) => string = (vcl) => vcl,
  prefix: readonly string[] = [],
  vcl = itsVcl,
): Promise<Varnish> {
  const { path: directory, discard } = await scratch('varnish')
  const [host, originPort] = backend.split(':')
  const own = vcl
    .replace('.host = "127.0.0.1";', `.host = "${host}";`)
    .replace('.port = "8080";', `.port = "${originPort}";`)
  await writeFile(join(directory, 'shop.vcl'), edit(own))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let child: Child | null = null
  const signal = (name: NodeJS.Signals) => {
    for (const pid of [child!.pid, ...childrenOf(child!.pid)]) process.kill(pid, name)
  }
  const end = async () => {
    const running = child
    child = null
    if (running === null) return
    for (const pid of [...childrenOf(running.pid), running.pid]) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It exited together with the other one.
      }
    }
    await running.ended
    // Its serving process, which inherits the socket, is not a child of this one: it may end later.
    await until(() => isFree(port))
  }
  const start = async () => {
    const settings = [
      '-n',
      join(directory, 'work'),
      '-f',
      join(directory, 'shop.vcl'),
      '-s',
      'malloc,64m',
      '-j',
      'none',
      '-T',
      '127.0.0.1:0',
    ]
    child = await startChild(
      [...prefix, program, '-F', '-a', `127.0.0.1:${port}`, ...settings] as unknown as [string],
      { cwd: directory, env: environment, ready: () => isUp(port) },
    )
  }
  try {
    await start()
  } catch (error) {
    await discard()
    throw error
  }
  return {
    url,
    port,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    kill: end,
    start,
    vclFile: join(directory, 'shop.vcl'),
    async admin(...command) {
      const { stdout } = await promisify(execFile)(adminProgram, ['-n', join(directory, 'work'), ...command], {
        env: environment,
      })
      return stdout
    },
    async restartChild() {
      const before = childrenOf(child!.pid)
      for (const pid of before) process.kill(pid, 'SIGKILL')
      await until(() => !childrenOf(child!.pid).some((pid) => before.includes(pid)))
      await until(() => isUp(port))
    },
    async stop() {
      await end()
      await discard()
    },
  }
}

/** Varnish itself answers a malformed request. A purge would change the state of its VCL. */
async function isUp(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1', () => socket.write('NONSENSE\r\n\r\n'))
  socket.setTimeout(2000, () => resolve(false))
  socket.once('data', (data) => resolve(data.toString().startsWith('HTTP/1.1 400')))
  for (const event of ['error', 'close']) socket.once(event, () => resolve(false))
  return promise.finally(() => socket.destroy())
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}
