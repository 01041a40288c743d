import { expect } from 'vitest'
import { createClient, fetchToken, jsonOf, type ApiClient } from './api-client.ts'
import { startDaemon, type Daemon, type DaemonOptions } from './daemon.ts'
import { exchange, type Answer, type ExchangeOptions } from './exchange.ts'

/** A daemon with a client of each kind, and their tokens. */
export interface Api {
  daemon: Daemon
  read: ApiClient & { token: string }
  write: ApiClient & { token: string }
  ask(path: string, options?: ExchangeOptions): Promise<Answer>
  stop(): Promise<unknown>
}

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

/** Asserts the form that all errors share. `oauth`: the error code of the token endpoint, whose errors have OAuth's form too. */
export function expectRefusal(
  answer: Answer,
  status: number,
  message: RegExp = /./,
  oauth: string | null = null,
): void {
  expect(answer.status, answer.body.toString()).toBe(status)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  const value = jsonOf(answer) as Record<string, unknown>
  const text = expect.stringMatching(message) as string
  expect(value).toEqual({
    success: false,
    message: text,
    ...(oauth !== null && { error: oauth, error_description: text }),
  })
  if (status === 401) expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  if (status === 429) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
}
