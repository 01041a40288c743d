import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { answers, startChild, type Child } from './child.ts'
import { freePort } from './daemon.ts'
import { scratch } from './scratch.ts'

export const alertRules = fileURLToPath(new URL('../../docs/alerts.yaml', import.meta.url))

/** One series of a query result: its labels and current value. */
export interface Series {
  metric: Record<string, string>
  value: number
}

/** A Prometheus on 127.0.0.1 that scrapes one daemon as the job `pagecache` and evaluates the rules in `docs/alerts.yaml`. */
export interface Prometheus {
  url: string
  /** Result of the query API. Throws the API's error for an invalid expression. */
  query(expression: string): Promise<Series[]>
  /** Sum of an expression's series; NaN if there are none. */
  sum(expression: string): Promise<number>
  /** Response of another endpoint. */
  ask(path: string): Promise<unknown>
  stop(): Promise<void>
}

/** @param target `host:port` of a daemon; `every` is the time between two scrapes. */
export async function startPrometheus(target: string, every = '1s'): Promise<Prometheus> {
  const { path: directory, discard } = await scratch('prometheus')
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const config = join(directory, 'prometheus.yml')
  const global = { scrape_interval: every, scrape_timeout: every, evaluation_interval: every }
  await writeFile(
    config,
    stringify({
      global,
      rule_files: [alertRules],
      scrape_configs: [{ job_name: 'pagecache', static_configs: [{ targets: [target] }] }],
    }),
  )
  let child: Child
  try {
    const flags = [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ]
    child = await startChild(['prometheus', ...flags], { cwd: directory, ready: () => answers(`${url}/-/ready`) })
  } catch (error) {
    await discard()
    throw error
  }
  const ask = async (path: string) => {
    const response = await fetch(url + path, { signal: AbortSignal.timeout(10_000) })
    const answer = (await response.json()) as { status: string; error?: string; data: unknown }
    if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`)
    return answer.data
  }
  const query = async (expression: string) => {
    const { result } = (await ask(`/api/v1/query?query=${encodeURIComponent(expression)}`)) as {
      result: { metric: Record<string, string>; value: [number, string] }[]
    }
    return result.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }))
  }
  return {
    url,
    query,
    sum: async (expression) =>
      (await query(expression)).reduce((sum, { value }) => (Number.isNaN(sum) ? value : sum + value), Number.NaN),
    ask,
    async stop() {
      await child.stop()
      await discard()
    },
  }
}

/** Runs promtool until it exits, and returns what it wrote to either stream. */
export function promtool(args: readonly string[], input = ''): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' })
  return { code: status, output: stdout + stderr }
}
