import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { answers, startChild, type Child } from './child.ts'
import { runProgram } from './daemon.ts'
import { environment, type CommandResult } from './environment.ts'
import { until } from './until.ts'

/** The addresses in the README, and what they are for one shop. */
export interface ReadmeShop {
  /** Where the shop answers: http://127.0.0.1:8000 in the README. */
  origin: string
  /** Port of the daemon: 8080 in the README. */
  port: number
  /** The URL under which its sitemaps name its pages: http://shop.example in the README. */
  publicUrl: string
  /** Path of a page: /dune-lamp/HP-2ADB0E in the README. */
  page: string
  /** Added to the first `serve`, as the README says for a shop without lifetimes. */
  flags?: readonly string[]
}

/** One step as it was typed. */
export interface Step extends CommandResult {
  command: string
}

/** The commands of the README's five minutes, in order: those in the text, and those after a `$`. */
export async function readmeCommands(): Promise<string[]> {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const section = /^## Five minutes.*?$(.*?)^## /ms.exec(readme)![1]!
  return [...section.matchAll(/`(pagecache [^`]+)`|^ *\$ (.+)$/gm)].map(([, inline, line]) => (inline ?? line)!)
}

/**
 * Types the commands of the README one after the other in a new project. `serve` is left running, and stopped with Ctrl-C when the
 * README starts it again. Every command must succeed.
 */
export async function followReadme(projectDir: string, shop: ReadmeShop): Promise<Step[]> {
  const steps: Step[] = []
  let daemon: Child | null = null
  try {
    for (const written of await readmeCommands()) {
      const command = adapt(written, shop)
      if (command.startsWith('pagecache serve')) {
        await daemon?.stop('SIGINT')
        daemon = await serve(projectDir, command, shop, daemon === null)
      } else steps.push({ command: written, ...(await type(projectDir, command, shop.port)) })
    }
    return steps
  } finally {
    await daemon?.stop('SIGINT')
  }
}

function adapt(command: string, { origin, port, publicUrl, page }: ReadmeShop): string {
  return command
    .replaceAll('http://127.0.0.1:8000', origin)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
    .replaceAll('http://shop.example', publicUrl)
    .replaceAll('/dune-lamp/HP-2ADB0E', page)
}

/** The README uses the default port, which is not free in every test. */
function portOf(port: number) {
  return { PAGECACHE_SERVER_PORT: String(port) }
}

async function serve(
  projectDir: string,
  command: string,
  { port, flags = [] }: ReadmeShop,
  isFirst: boolean,
): Promise<Child> {
  const args = [...command.split(' ').slice(1), ...(isFirst ? flags : [])]
  const program = new URL('../../bin/run.js', import.meta.url).pathname
  const env = { ...environment(projectDir), ...portOf(port) }
  const url = `http://127.0.0.1:${port}`
  const child = await startChild([process.execPath, program, ...args], {
    cwd: projectDir,
    env,
    ready: () => answers(`${url}/readyz`),
  })
  // A page is loaded twice in a browser.
  await until(async () => ((await fetch(url)).headers.get('cache-status') ?? '').includes('hit'))
  return child
}

async function type(projectDir: string, command: string, port: number): Promise<CommandResult> {
  const [program, ...args] = command.split(' ')
  const perform = () =>
    program === 'pagecache' ? runProgram(args, { projectDir, env: portOf(port) }) : inShell(command)
  let result = await perform()
  // Its checks have a time limit, which a machine that stalls exceeds.
  for (let tries = 1; command === 'pagecache doctor' && result.code !== 0 && tries < 5; tries++)
    result = await perform()
  expect(result, `${command}\n${result.stdout}${result.stderr}`).toMatchObject({ code: 0 })
  return result
}

function inShell(command: string): Promise<CommandResult> {
  const child = spawn('sh', ['-c', command])
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })))
}
