import { setTimeout as sleep } from 'node:timers/promises'
import { pick } from '../helpers/random.ts'
import { host, missing, pages } from './pages.ts'
import { running, type Run } from './run.ts'

/** Events that visitors sent: those that were acknowledged, and all. */
export interface SentEvents {
  acknowledged: string[]
  sent: number
}

/** Sends events of visitors to random nodes until the run is over. Each has an address of its own. */
export async function sendEvents(run: Run, events: SentEvents): Promise<void> {
  const next = run.random(30)
  const kinds = ['impression', 'cta_click', 'close', 'permanent_dismiss']
  while (!run.over.aborted) {
    const at = running(run)
    if (at.length > 0) {
      const requestUrl = `/event/${(events.sent += 1)}`
      const body = JSON.stringify({ popupId: run.stage, eventType: pick(next, kinds), requestUrl })
      const headers = { host, 'content-type': 'application/json' }
      const answering = run.clients
        .get(pick(next, at).name)!
        .ask('/vendor-stage/track', { method: 'POST', headers, body })
      // Not awaited: a node that hangs must not keep the others waiting.
      void answering.then(
        ({ status }) => status === 200 && events.acknowledged.push(requestUrl),
        () => {},
      )
    }
    await sleep(next() * 100)
  }
}

/** The URLs of a warmup: all pages, and one that does not exist. */
export const warmed = [...pages.map(({ path }) => path), missing]

/** Starts a warmup of all pages again and again until the run is over; resolves to the IDs of those that were started. */
export async function warm(run: Run): Promise<string[]> {
  const next = run.random(40)
  const started: string[] = []
  while (!run.over.aborted) {
    const at = running(run)
    const answer = at.length === 0 ? null : await start(run, pick(next, at).name, next() < 0.5)
    if (answer !== null) started.push(answer)
    for (let waited = 0; waited < 15_000 * next() && !run.over.aborted; waited += 100) await sleep(100)
  }
  return started
}

async function start(
  run: Run,
  node: ReturnType<typeof running>[number]['name'],
  force: boolean,
): Promise<string | null> {
  const client = run.clients.get(node)!
  const login = {
    grant_type: 'client_credentials',
    client_id: run.client.clientId,
    client_secret: run.client.clientSecret,
  }
  const headers = { 'content-type': 'application/json' }
  const post = (path: string, body: object, more = {}) =>
    client.ask(path, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body), timeout: 30_000 })
  try {
    const { access_token: token } = JSON.parse((await post('/api/oauth/token', login)).body) as { access_token: string }
    const authorization = { authorization: `Bearer ${token}` }
    const { status, body } = await post(
      '/api/_action/vendor-cache/warmup/start',
      { urls: warmed, force },
      authorization,
    )
    return status === 200 ? (JSON.parse(body) as { progressId: string }).progressId : null
  } catch {
    // The node, or its database, is away.
    return null
  }
}
