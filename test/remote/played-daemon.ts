import { onTestFinished } from 'vitest'
import { openRemote } from '../../src/remote/remote.ts'
import { type Origin, startOrigin } from '../helpers/origin.ts'

export const json = { 'content-type': 'application/json' }

/** A daemon that is played: it issues tokens, and answers what a test says. */
export async function startPlayed(options: { expiresIn?: number } = {}): Promise<{ daemon: Origin; tokens: string[] }> {
  const daemon = await startOrigin()
  const tokens: string[] = []
  daemon.on('/api/oauth/token', () => {
    tokens.push(`token-${tokens.length + 1}`)
    return {
      headers: json,
      body: JSON.stringify({ token_type: 'Bearer', expires_in: options.expiresIn ?? 600, access_token: tokens.at(-1) }),
    }
  })
  onTestFinished(() => daemon.stop())
  return { daemon, tokens }
}

export async function openAt(server: string) {
  const told: string[] = []
  const remote = await openRemote(
    { server, clientId: 'me', clientSecret: 'secret' },
    {
      signal: new AbortController().signal,
      report: (event) => void (event.kind === 'message' && told.push(event.message)),
      onWarning: (message) => void told.push(message),
    },
  )
  onTestFinished(() => remote.close())
  return { remote, told }
}

export const cleared = { success: true, filesDeleted: 0 }
