import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Records } from '../../src/records/open.ts'
import type { WarmupProgress } from '../../src/warmup/run/progress.ts'
import { readProgress } from '../../src/warmup/run/runs.ts'

export const publicUrl = 'http://shop.example'

/** Every 50th page is missing, every 50th uncacheable. */
export function kindOf(number: number): 'page' | 'missing' | 'private' {
  return number % 50 === 7 ? 'missing' : number % 50 === 8 ? 'private' : 'page'
}

export class Shop {
  readonly requests = new Map<number, number[]>()
  readonly #server: Server

  constructor(urls: number, latency: number) {
    const sitemap = `<urlset>${Array.from({ length: urls }, (_, number) => `<url><loc>${publicUrl}/p/${number}</loc></url>`).join('')}</urlset>`
    this.#server = createServer(async (request, response) => {
      if (request.url === '/sitemap.xml') return void response.end(sitemap)
      const number = Number(/^\/p\/(\d+)$/.exec(request.url ?? '')?.[1] ?? NaN)
      if (Number.isNaN(number)) return void response.writeHead(404).end()
      const times = this.requests.get(number) ?? []
      this.requests.set(number, [...times, performance.now()])
      await sleep(latency)
      const kind = kindOf(number)
      response.writeHead(kind === 'missing' ? 404 : 200, {
        'content-type': 'text/html',
        'cache-control': kind === 'private' ? 'private' : 'public, s-maxage=86400',
      })
      response.end(`<h1>${number}</h1>`)
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** Polls the progress and records every contradiction within a sample or with an earlier one. */
export class Sampler {
  samples = 0
  last: WarmupProgress | null = null
  readonly faults: string[] = []
  readonly #records: Records
  readonly #id: string

  constructor(records: Records, id: string) {
    this.#records = records
    this.#id = id
  }

  async run(end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      await this.look()
      await sleep(5)
    }
    await this.look()
  }

  async look(): Promise<WarmupProgress> {
    const progress = (await readProgress(this.#records, this.#id))!
    const { total_urls, checked_urls, processed_urls, failed_urls, remaining_urls, skipped_urls, percentage } = progress
    const fault = (what: string) =>
      void this.faults.push(`${what}: ${JSON.stringify(progress)} after ${JSON.stringify(this.last)}`)
    if (remaining_urls !== total_urls - processed_urls - failed_urls)
      fault('remaining is not total − processed − failed')
    if (checked_urls < processed_urls + failed_urls || checked_urls > total_urls || skipped_urls > processed_urls)
      fault('the counts do not fit together')
    const before = this.last
    for (const key of ['checked_urls', 'processed_urls', 'failed_urls', 'skipped_urls', 'percentage'] as const) {
      if (before && progress[key] < before[key]) fault(`${key} went backwards`)
    }
    if ((percentage === 100) !== (progress.status === 'completed')) fault('100 % and completed are not the same')
    this.last = progress
    this.samples++
    return progress
  }
}
