import { expect } from 'vitest'
import { exchange, type Answer, type ExchangeOptions } from './exchange.ts'
import { startDaemon, type Daemon, type DaemonOptions } from './daemon.ts'

export interface ApiClient {
  clientId: string
  clientSecret: string
  scopes: string[]
}

/** A daemon with a client of each kind, and their tokens. */
export interface Api {
  daemon: Daemon
  read: ApiClient & { token: string }
  write: ApiClient & { token: string }
  ask(path: string, options?: ExchangeOptions): Promise<Answer>
  stop(): Promise<unknown>
}

export const prefix = '/api/_action/vendor-cache'

export async function openApi(options: DaemonOptions = {}): Promise<Api> {
  const daemon = await startDaemon(options)
  const open = async (scope: string) => {
    const client = await createClient(daemon, scope, scope)
    return { ...client, token: await fetchToken(daemon.url, client) }
  }
  try {
    const [read, write] = [await open('read'), await open('write')]
    return { daemon, read, write, ask: (path, how) => exchange(daemon.url + path, how), stop: daemon.stop }
  } catch (error) {
    await daemon.stop()
    throw error
  }
}

export async function createClient(daemon: Daemon, name: string, scope = 'write'): Promise<ApiClient> {
  const { code, stdout, stderr } = await daemon.run('client:create', name, '--scope', scope, '--json')
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout) as ApiClient
}

export async function fetchToken(url: string, client: Pick<ApiClient, 'clientId' | 'clientSecret'>): Promise<string> {
  const answer = await askToken(url, client)
  expect(answer.status, answer.body.toString()).toBe(200)
  return (jsonOf(answer) as { access_token: string }).access_token
}

export function askToken(url: string, { clientId, clientSecret }: Pick<ApiClient, 'clientId' | 'clientSecret'>, more: Record<string, string> = {}): Promise<Answer> {
  return exchange(`${url}/api/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...more },
    body: JSON.stringify({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
  })
}

export function jsonOf(answer: Answer): unknown {
  return JSON.parse(answer.body.toString()) as unknown
}

export function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

export function json(value: unknown): Pick<ExchangeOptions, 'body'> & { headers: Record<string, string> } {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}

/** Errors are always the same (contract section 4). */
export function expectRefusal(answer: Answer, status: number, message: RegExp = /./): void {
  expect(answer.status, answer.body.toString()).toBe(status)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  const value = jsonOf(answer) as Record<string, unknown>
  expect(value).toEqual({ success: false, message: expect.stringMatching(message) as string })
  if (status === 401) expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  if (status === 429) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
}
