import { setTimeout as sleep } from 'node:timers/promises'
import { pick } from '../helpers/random.ts'
import { host, pickSelection, type Selection } from './pages.ts'
import type { RequestOptions, Response } from './requests.ts'
import { running, type Run } from './run.ts'
import { alone, type NodeName } from './servers.ts'

const api = '/api/_action/vendor-cache'

/** Longer than a daemon waits for a node that is slow, in milliseconds. */
const patience = 60_000

/** Changes pages and purges them at random nodes, one purge after another, until the run is over. */
export async function write(run: Run, part: number): Promise<void> {
  const next = run.random(part)
  const tokens = new Map<NodeName, string>()
  while (!run.over.aborted) {
    const at = running(run)
    if (at.length > 0) await purge(run, pick(next, at).name, pickSelection(next), tokens)
    await sleep(20 + next() * 300)
  }
}

async function purge(run: Run, node: NodeName, selection: Selection, tokens: Map<NodeName, string>): Promise<void> {
  const { oracle } = run
  // A token is asked for before the pages change: what takes long belongs to no purge.
  const token = isMethod(selection) ? '' : await tokenOf(run, node, tokens)
  if (token === null) return
  const sent = oracle.change(selection, node)
  try {
    const { path, options } = requestOf(selection, sent.number, token)
    const response = await run.clients.get(node)!.ask(path, { ...options, timeout: patience })
    if (response.status === 401) tokens.delete(node)
    if (response.status !== 200) return oracle.failed(sent, `${response.status} ${response.body.slice(0, 200)}`)
    sent.row = rowOf(response)
    oracle.answered(sent, namesIn(response))
    judgeNames(run, sent)
  } catch (error) {
    oracle.failed(sent, String(error))
  }
}

/** Tags and everything are purged by the methods of shops, which need no token. */
const isMethod = ({ scope }: Selection) => scope === 'tag' || scope === 'all'

function requestOf(
  { scope, value }: Selection,
  number: number,
  token: string,
): { path: string; options: RequestOptions } {
  // The second tag finds the purge in the log.
  if (scope === 'tag')
    return { path: '/', options: { method: 'PURGE', headers: { host, xkey: `${value} ${markOf(number)}` } } }
  if (scope === 'all') return { path: '/', options: { method: 'BAN', headers: { host } } }
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const send = (path: string, body: object) => {
    return { path: `${api}/${path}`, options: { method: 'POST', headers, body: JSON.stringify(body) } }
  }
  if (scope === 'type') return send('clear-by-type', { type: value })
  if (scope === 'url') return send('purge', { urls: [`http://${host}${value}`] })
  const entityType = Number.parseInt(value.slice(-4), 16) < 1000 ? 'product' : 'category'
  return send('purge', { entityType, entityId: value })
}

export const markOf = (number: number) => `mark-${number}`

/** The row of the log that an answer names: the last six bytes of the ID. */
function rowOf({ body }: Response): number | null {
  const id = /"invalidationId":\s*"[\da-f-]{24}([\da-f]{12})"/.exec(body)?.[1]
  return id === undefined ? null : Number.parseInt(id, 16)
}

function namesIn({ headers, body }: Response): string[] {
  const field = String(headers['x-purge-unconfirmed'] ?? '')
  const list = /"unconfirmed":\s*\[([^\]]*)\]/.exec(body)?.[1] ?? ''
  return [...field.split(/,\s*/), ...list.split(',').map((each) => each.trim().replaceAll('"', ''))].filter(Boolean)
}

/** A purge names only nodes that were in trouble since another purge last found them live. */
function judgeNames(
  { oracle, troubles }: Run,
  { number, unconfirmed, sentAt, answeredAt }: Run['oracle']['purges'][number],
): void {
  // A node is named for a time from when it was marked; the database counts a tenth longer.
  // A purge answered before that found it live.
  const before = oracle.lastAnswered(sentAt - 1.2 * alone)
  for (const node of unconfirmed!)
    if (!troubles.between(node, before, answeredAt))
      oracle.fail(null, `purge ${number} names ${node}, which was in no trouble since ${(before / 1000).toFixed(3)} s`)
}

async function tokenOf(run: Run, node: NodeName, tokens: Map<NodeName, string>): Promise<string | null> {
  const known = tokens.get(node)
  if (known !== undefined) return known
  const body = JSON.stringify({
    grant_type: 'client_credentials',
    client_id: run.client.clientId,
    client_secret: run.client.clientSecret,
  })
  const headers = { 'content-type': 'application/json' }
  const answer = await run.clients
    .get(node)!
    .ask('/api/oauth/token', { method: 'POST', headers, body })
    .catch(() => null)
  if (answer?.status !== 200) return null
  const { access_token: token } = JSON.parse(answer.body) as { access_token: string }
  tokens.set(node, token)
  return token
}
