import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, onTestFinished } from 'vitest'
import { App } from '../../src/app.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Log } from '../../src/daemon/log.ts'
import { startDaemon, type Daemon } from '../../src/daemon/daemon.ts'
import type { Records } from '../../src/records/open.ts'
import { defaultLook, defaultTrigger } from '../../src/stages/look.ts'
import { createStage } from '../../src/stages/stages.ts'
import type { Stage, StageFields } from '../../src/stages/stage.ts'
import { freePort } from '../helpers/daemon.ts'
import { exchange, type Answer } from '../helpers/exchange.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { scratch } from '../helpers/scratch.ts'

export const channelId = '0190c0de-0000-7000-8000-000000000001'
export const germanId = '0190c0de-0000-7000-8000-000000000002'

export const settings: StageFields = {
  name: 'Sale',
  statsEnabled: true,
  retentionDays: 90,
  maxPerSession: null,
  frequency: 'always',
  salesChannelId: null,
  active: true,
  pageTypes: [],
  from: null,
  until: null,
  look: defaultLook,
  trigger: defaultTrigger,
  content: {
    headline: 'Summer sale',
    html: null,
    text: 'Everything must go.',
    callToAction: null,
    dismissLabel: null,
    closeLabel: 'Close',
  },
}

/** A daemon in this process in front of a scripted shop: one channel at the root, one under /de. */
export interface Storefront {
  url: string
  origin: Origin
  app: App
  daemon: Daemon
  records: Records
  projectDir: string
  /** Messages to the operator. */
  log: string[]
  stage(fields?: Partial<StageFields>): Promise<Stage>
  track(body: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Ids of the stages shown to a visitor with these cookies. */
  active(cookie?: string, query?: string): Promise<string[]>
  events(): Promise<Awaited<ReturnType<typeof readEvents>>>
}

function listLog(lines: string[]): Log {
  const say = (message: string) => void lines.push(message)
  return {
    info: say,
    warn: say,
    error: (message, error) => say(`${message}: ${String(error)}`),
    access: null,
    close: () => {},
  }
}

type Settings = Record<string, unknown>

/** A storefront of the running test. */
export async function startStorefront(stages: Settings = {}, more: Settings = {}): Promise<Storefront> {
  const { shop, stop } = await start(stages, more)
  onTestFinished(stop)
  return shop
}

/** Opens a storefront that the tests of a file share. Each finds it without stages and events. */
export type OpenStorefront = (stages?: Settings, more?: Settings) => Promise<Storefront>

/** Closes the storefronts that it opens after the last test of the file that calls it. */
export function shareStorefronts(): OpenStorefront {
  const shared = new Map<string, ReturnType<typeof start>>()
  afterAll(async () => {
    for (const started of shared.values()) await (await started).stop()
  })
  return (stages = {}, more = {}) => {
    const key = JSON.stringify([stages, more])
    const started = shared.get(key) ?? start(stages, more)
    shared.set(key, started)
    return started.then(empty)
  }
}

async function empty({ shop }: { shop: Storefront }): Promise<Storefront> {
  const tables = ['vendor_stage_event', 'vendor_stage_session', 'vendor_stage_rollup', 'vendor_stage']
  // At once: a page of the test before may still send an event.
  await shop.records.db.transaction().execute(async (transaction) => {
    for (const table of tables) await sql`delete from ${sql.table(table)}`.execute(transaction)
  })
  shop.origin.otherwise(page)
  shop.origin.forget()
  return shop
}

const page = { status: 200, headers: { 'content-type': 'text/html' }, body: 'a page' }

async function start(stages: Settings, more: Settings): Promise<{ shop: Storefront; stop(): Promise<void> }> {
  const origin = await startOrigin({ otherwise: page })
  const { path: projectDir, discard } = await scratch('pagecache-storefront')
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const salesChannels = [
    { id: channelId, name: 'English', url, origin: origin.url },
    { id: germanId, name: 'Deutsch', url: `${url}/de`, origin: origin.url },
  ]
  await writeFile(
    join(projectDir, 'pagecache.yaml'),
    JSON.stringify({
      salesChannels,
      stages: { rateLimit: { perAddress: null, perStage: null, total: null }, ...stages },
      ...more,
    }),
  )
  const log: string[] = []
  const app = new App({
    loaded: await loadConfig({ projectDir }, { variables: {} }),
    onWarning: (message) => log.push(message),
  })
  const daemon = await startDaemon(app, {
    host: '127.0.0.1',
    port,
    address: null,
    proxyProtocol: false,
    gather: null,
    receiver: null,
    shared: null,
    log: listLog(log),
  })
  const records = await app.records()
  const shop: Storefront = {
    url,
    origin,
    app,
    daemon,
    records,
    projectDir,
    log,
    stage: (fields = {}) => createStage(records, app.config.salesChannels, { ...settings, ...fields }),
    track: (body, headers = {}) =>
      exchange(`${url}/vendor-stage/track`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      }),
    active: async (cookie, query = '') => {
      const answer = await exchange(`${url}/vendor-stage/active${query}`, {
        headers: cookie === undefined ? {} : { cookie },
      })
      return (JSON.parse(answer.body.toString()) as { items: { id: string }[] }).items.map(({ id }) => id)
    },
    events: () => readEvents(records),
  }
  return {
    shop,
    async stop() {
      await daemon.stop(0, 1000)
      await app.close()
      await origin.stop()
      await discard()
    },
  }
}

function readEvents({ db }: Records) {
  return db.selectFrom('vendor_stage_event').selectAll().orderBy('id').execute()
}

export function jsonOf(answer: Answer): unknown {
  return JSON.parse(answer.body.toString())
}

/** The cookies of a response, as a browser would send them back. */
export function cookiesOf(answer: Answer): string {
  return answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
}
