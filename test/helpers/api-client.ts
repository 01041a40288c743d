import { exchange, type Answer, type ExchangeOptions } from './exchange.ts'
import type { Daemon } from './daemon.ts'

export interface ApiClient {
  clientId: string
  clientSecret: string
  scopes: string[]
}

export const prefix = '/api/_action/vendor-cache'

export async function createClient(daemon: Daemon, name: string, scope = 'write'): Promise<ApiClient> {
  const { code, stdout, stderr } = await daemon.run('client:create', name, '--scope', scope, '--json')
  if (code !== 0) throw new Error(`client:create ended with ${code}: ${stderr}${stdout}`)
  return JSON.parse(stdout) as ApiClient
}

export async function fetchToken(url: string, client: Pick<ApiClient, 'clientId' | 'clientSecret'>): Promise<string> {
  const answer = await askToken(url, client)
  if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${answer.body.toString()}`)
  return (jsonOf(answer) as { access_token: string }).access_token
}

export function askToken(
  url: string,
  { clientId, clientSecret }: Pick<ApiClient, 'clientId' | 'clientSecret'>,
  more: Record<string, string> = {},
): Promise<Answer> {
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
