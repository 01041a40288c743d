import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Daemon } from '../helpers/daemon.ts'
import { exchange } from '../helpers/exchange.ts'
import { type Origin, startOrigin } from '../helpers/origin.ts'
import { hasVarnish } from '../helpers/varnish.ts'
import { speak } from '../http/front/wire.ts'

/** Short enough that a test of a dead proxy ends soon, long enough for a slow machine. */
export const purge = { timeout: '500ms', settleTime: '100ms' }

if (!hasVarnish)
  console.warn('The real-Varnish tests are left out: varnishd is not installed (Debian: varnish, varnish-modules).')

export let origin: Origin

/** Every page of the origin contains this version. A test raises it to see which pages have been purged. */
export const shop = { version: 1 }

/** Starts an origin for all tests of the file that calls it. */
export function useOrigin(): void {
  beforeAll(async () => {
    origin = await startOrigin({
      otherwise: (request) => ({
        headers: {
          'content-type': 'text/html',
          'cache-control': 'public, s-maxage=3600',
          xkey: `all ${request.path.slice(1)}`,
        },
        body: `version ${shop.version} of ${request.path}`,
      }),
    })
  })

  afterAll(() => origin.stop())
}

/** The body that a Varnish serves for a path. */
export async function look(varnish: { url: string }, path: string): Promise<string> {
  return (await exchange(`${varnish.url}${path}`, { headers: { host: 'shop.example' } })).body.toString()
}

export async function purgeTags(daemon: Daemon, tags: string): Promise<string> {
  const { answers } = await speak(
    daemon.port,
    `PURGE / HTTP/1.1\r\nHost: varnish\r\nxkey: ${tags}\r\nConnection: close\r\n\r\n`,
  )
  expect(answers[0]!.status).toBe(200)
  return answers[0]!.body
}

interface Delivery {
  proxy: string
  status: string
  attempts: number
  error: string | null
}

/** Deliveries of the last purge, from the purge log. */
export function deliveries(daemon: Daemon): Delivery[] {
  const database = new Database(join(daemon.projectDir, 'var/data/prod/records.sqlite'), { readonly: true })
  try {
    return database
      .prepare(
        'SELECT proxy, status, attempts, error FROM purge_deliveries WHERE purge_id = (SELECT max(id) FROM purges) ORDER BY proxy',
      )
      .all() as Delivery[]
  } finally {
    database.close()
  }
}
