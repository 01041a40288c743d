import { setTimeout as sleep } from 'node:timers/promises'
import { pick } from '../helpers/random.ts'
import type { Seen } from './oracle.ts'
import { host, pages } from './pages.ts'
import type { Response } from './requests.ts'
import { running, type Run } from './run.ts'
import { lease, type NodeName } from './servers.ts'

/** Visits random pages of a node until the run is over, while its daemon runs. */
export async function read(run: Run, node: NodeName, part: number): Promise<void> {
  const next = run.random(part)
  while (!run.over.aborted) {
    if (running(run).some(({ name }) => name === node)) await visit(run, node, pick(next, pages).path, next() < 0.1)
    await sleep(5 + next() * 30)
  }
}

/** Visits a page and judges it; resolves to null without an answer. */
export async function visit(run: Run, node: NodeName, path: string, marked = false): Promise<Seen | null> {
  const { oracle, troubles, now } = run
  const [answered, began] = [oracle.expect(path), now()]
  try {
    const target = marked ? `${path}?utm_source=check` : path
    const response = await run.clients.get(node)!.ask(target, { headers: { host } })
    const seen = toSeen(path, node, response)
    if (response.status !== 200) throw new Error(`${response.status} ${response.body.slice(0, 100)}`)
    if (response.took > lease / 4 || /unconfirmed|no lease/.test(seen.how)) troubles.saw(node, began)
    oracle.judge(seen, answered)
    return seen
  } catch (error) {
    troubles.saw(node, began)
    oracle.note(null, `${node} does not answer: ${String(error)}`)
    return null
  }
}

export function toSeen(path: string, node: string, { headers, body }: Response): Seen {
  const version = /^version (\d+) of (\S+)/.exec(body)
  const isPage = version !== null && version[2] === path
  return { path, node, version: isPage ? Number(version[1]) : null, how: String(headers['cache-status'] ?? '') }
}
