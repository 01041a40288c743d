import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { type Agent, type IncomingMessage, request as requestPlain } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { type DaemonOptions, startDaemon } from '../helpers/daemon.ts'
import { startOrigin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { openShop, page, type Shop } from '../http/api/shop.ts'

export const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

export const id = '0190c0de-0000-7000-8000-000000000001'

export async function open(options: DaemonOptions = {}): Promise<Shop> {
  const shop = await openShop(options)
  onTestFinished(() => shop.close())
  return shop
}

/** Starts a daemon with its channel in a configuration file that a reload reads again. */
export async function openConfigured(more: Record<string, unknown> = {}) {
  const origin = await startOrigin({ otherwise: (request) => page(`page of ${request.path}`) })
  const projectDir = await tempDir()
  const write = (url: string, changes: Record<string, unknown> = {}) => {
    const { host, port } = { host: '127.0.0.1', port: Number(new URL(url).port) }
    return writeFile(
      join(projectDir, 'pagecache.yaml'),
      stringify({
        salesChannels: [{ id, url, origin: origin.url }],
        ...more,
        ...changes,
        server: { host, port, ...(more['server'] as object | undefined) },
      }),
    )
  }
  const daemon = await startDaemon({
    projectDir,
    config: (url) => ({ salesChannels: [{ id, url, origin: origin.url }], ...more }),
  })
  onTestFinished(async () => {
    await daemon.stop()
    await origin.stop()
  })
  return {
    origin,
    daemon,
    write: (changes?: Record<string, unknown>) => write(daemon.url, changes),
    raw: (text: string) => writeFile(join(projectDir, 'pagecache.yaml'), text),
    remove: () => rm(join(projectDir, 'pagecache.yaml')),
  }
}

/** Sends a request and resolves with the response before its body has arrived. */
export async function begin(url: string, agent?: Agent): Promise<IncomingMessage> {
  const request = requestPlain(url, agent === undefined ? {} : { agent })
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

export async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk as string
  return text
}

/** Serves a page that begins at once and ends when `end` is called. */
export function serveSlowly(shop: Pick<Shop, 'origin'>, path: string): { end(): void } {
  let end = () => {}
  shop.origin.on(path, (_, response) => {
    response.writeHead(200, { 'cache-control': 'private' })
    response.write('beginning ')
    end = () => response.end('end')
  })
  return { end: () => end() }
}
