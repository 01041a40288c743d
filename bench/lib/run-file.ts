import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * Runs a file of `bench` as a program of its own, so that neither the shop nor another client delays its timers, and parses what it prints.
 * `command`: what runs it.
 */
export async function runFile<Result>(
  file: string,
  given: readonly string[],
  { command = [process.execPath], signal }: { command?: readonly string[]; signal?: AbortSignal } = {},
): Promise<Result> {
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url))
  const [program, ...rest] = [...command, path, ...given] as [string, ...string[]]
  const { stdout } = await promisify(execFile)(program, rest, signal === undefined ? {} : { signal })
  return JSON.parse(stdout) as Result
}
