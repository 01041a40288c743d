import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { scratch } from '../../test/helpers/scratch.ts'
import { onLoadCore } from './cores.ts'

export interface Load {
  url: string
  headers: Readonly<Record<string, string>>
  connections: number
  seconds: number
  /** Requested in turn instead of the path of `url`. */
  paths?: readonly string[]
  /** Sent in turn with POST to `url`, each with its visitor's cookie. */
  posts?: readonly { body: string; cookie: string }[]
}

export interface LoadResult {
  requestsPerSecond: number
  bytesPerRequest: number
  /** Milliseconds. */
  p50: number
  p99: number
}

interface Summary {
  requests: number
  bytes: number
  microseconds: number
  p50: number
  p99: number
  failures: number
}

/** wrk's text output is rounded; its script interface has exact counts. */
const script = `done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('\\n{"requests":%d,"bytes":%d,"microseconds":%d,"p50":%d,"p99":%d,"failures":%d}\\n',
    summary.requests, summary.bytes, summary.duration, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
`

/** Lua code that requests the paths in turn. */
function turns(paths: readonly string[]): string {
  const list = paths.map((path) => JSON.stringify(path)).join(',')
  return `local paths, turn = {${list}}, 0\nrequest = function()\n  turn = turn % #paths + 1\n  return wrk.format(nil, paths[turn])\nend\n`
}

/** Lua code that sends the bodies in turn; the requests are built once. */
function postsInTurn(posts: NonNullable<Load['posts']>): string {
  const list = posts.map(({ body, cookie }) => `{${JSON.stringify(body)},${JSON.stringify(cookie)}}`).join(',')
  return `local posts, made, turn = {${list}}, {}, 0
init = function()
  for i, post in ipairs(posts) do
    wrk.headers['Cookie'] = post[2]
    made[i] = wrk.format('POST', nil, nil, post[1])
  end
end
request = function()
  turn = turn % #made + 1
  return made[turn]
end
`
}

/** Runs wrk with one thread on the load's core. Throws if any request failed, because failures are cheap and would look fast. */
export async function load({ url, headers, connections, seconds, paths, posts }: Load): Promise<LoadResult> {
  const directory = await scratch('wrk')
  try {
    const file = join(directory.path, 'done.lua')
    await writeFile(file, script + (paths ? turns(paths) : '') + (posts ? postsInTurn(posts) : ''))
    const lines = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const [taskset, ...pinned] = onLoadCore
    const argv = [...pinned, 'wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '-s', file, ...lines, url]
    const { stdout } = await promisify(execFile)(taskset, argv)
    const summary = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Summary
    if (summary.failures > 0) throw new Error(`${url}: ${summary.failures} of ${summary.requests} requests failed`)
    return {
      requestsPerSecond: summary.requests / (summary.microseconds / 1e6),
      bytesPerRequest: summary.bytes / summary.requests,
      p50: summary.p50 / 1000,
      p99: summary.p99 / 1000,
    }
  } finally {
    await directory.discard()
  }
}
