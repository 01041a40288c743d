import { readBody, startOrigin, type Origin } from '../../helpers/origin.ts'

/** A shop whose admin API answers as that of Shopware does. */
export interface StandInShop {
  origin: Origin
  /** The tokens that it accepts. */
  tokens: Set<string>
  /** How often its admin API was asked whether a token is good. */
  asked(): number
  stop(): Promise<void>
}

const json = { 'content-type': 'application/json; charset=UTF-8' }

function oauthError(detail: string): string {
  return JSON.stringify({
    errors: [
      { code: '9', status: '401', title: 'The resource owner or authorization server denied the request.', detail },
    ],
  })
}

export async function startStandInShop(): Promise<StandInShop> {
  const tokens = new Set<string>()
  const integration = { client_id: 'SWIAQ0JDREVGR0HJSKTMTU5PUA', client_secret: 'shop-secret' }
  let asked = 0
  const issue = () => {
    const payload = {
      aud: integration.client_id,
      sub: '',
      exp: Math.floor(Date.now() / 1000) + 600,
      jti: String(tokens.size),
    }
    const token = ['{"typ":"JWT","alg":"HS256"}', JSON.stringify(payload), 'signature']
      .map((part) => Buffer.from(part).toString('base64url'))
      .join('.')
    tokens.add(token)
    return token
  }
  const origin = await startOrigin({
    otherwise: async (request, _, incoming) => {
      if (request.path === '/api/oauth/token') {
        const body = (await readBody(incoming)).toString()
        const given = (request.headers['content-type'] ?? '').startsWith('application/json')
          ? (JSON.parse(body) as Record<string, string>)
          : Object.fromEntries(new URLSearchParams(body))
        const known =
          given['client_id'] === 'administration'
            ? given['grant_type'] === 'password'
            : given['client_id'] === integration.client_id && given['client_secret'] === integration.client_secret
        if (!known)
          return {
            status: 401,
            headers: json,
            body: JSON.stringify({
              errors: [{ code: '4', status: '401', title: 'Client authentication failed', detail: null }],
            }),
          }
        return {
          headers: { ...json, pragma: 'no-cache', 'cache-control': 'no-store' },
          body: JSON.stringify({ token_type: 'Bearer', expires_in: 600, access_token: issue() }),
        }
      }
      if (request.path.startsWith('/api/')) {
        asked++
        const token = /^Bearer (.*)$/.exec(request.headers['authorization'] ?? '')?.[1]
        if (token === undefined)
          return { status: 401, headers: json, body: oauthError('Missing "Authorization" header') }
        if (!tokens.has(token))
          return { status: 401, headers: json, body: oauthError('Access token could not be verified') }
        return { headers: json, body: JSON.stringify({ version: '6.7.6.0' }) }
      }
      return { headers: { 'content-type': 'text/html', 'cache-control': 'public, max-age=60' }, body: 'page' }
    },
  })
  return { origin, tokens, asked: () => asked, stop: () => origin.stop() }
}
