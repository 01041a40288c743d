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
  /** Sent with POST instead of GET. */
  body?: string
  /** Appends this text and a number to the path, another number for each request. */
  fresh?: string
}

export interface LoadResult {
  requests: number
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

/** Lua code that requests a new path each time. */
function newPaths(prefix: string): string {
  return `local before, after, number
init = function()
  local whole = wrk.format(nil, wrk.path .. ${JSON.stringify(prefix)} .. '@')
  local at = whole:find('@', 1, true)
  before, after, number = whole:sub(1, at - 1), whole:sub(at + 1), 0
end
request = function()
  number = number + 1
  return before .. number .. after
end
`
}

/** Lua code that posts one body. */
function post(body: string): string {
  return `wrk.method = 'POST'\nwrk.body = ${JSON.stringify(body)}\n`
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

function shapeOf({ paths, posts, body, fresh }: Pick<Load, 'paths' | 'posts' | 'body' | 'fresh'>): string {
  if (paths !== undefined) return turns(paths)
  if (posts !== undefined) return postsInTurn(posts)
  if (fresh !== undefined) return newPaths(fresh)
  return body === undefined ? '' : post(body)
}

/** Runs wrk with one thread on the load's core. Throws if any request failed, because failures are cheap and would look fast. */
export async function load({ url, headers, connections, seconds, ...shape }: Load): Promise<LoadResult> {
  const directory = await scratch('wrk')
  try {
    const file = join(directory.path, 'done.lua')
    await writeFile(file, script + shapeOf(shape))
    const lines = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const [taskset, ...pinned] = onLoadCore
    const argv = [...pinned, 'wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '-s', file, ...lines, url]
    const { stdout } = await promisify(execFile)(taskset, argv)
    const summary = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Summary
    if (summary.failures > 0) throw new Error(`${url}: ${summary.failures} of ${summary.requests} requests failed`)
    return {
      requests: summary.requests,
      requestsPerSecond: summary.requests / (summary.microseconds / 1e6),
      bytesPerRequest: summary.bytes / summary.requests,
      p50: summary.p50 / 1000,
      p99: summary.p99 / 1000,
    }
  } finally {
    await directory.discard()
  }
}
