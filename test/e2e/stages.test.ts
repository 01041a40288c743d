import { Agent, request } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import Database from 'better-sqlite3'
import { join } from 'node:path'
import { startDaemon } from '../helpers/daemon.ts'
import { startOrigin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'

describe('a daemon that is killed while events come in', () => {
  it('has lost no acknowledged event, and its sums match', async () => {
    const origin = await startOrigin()
    const projectDir = await tempDir()
    const daemon = await startDaemon({
      projectDir,
      args: ['--origin', origin.url],
      config: { stages: { rateLimit: { perAddress: null, perStage: null, total: null } } },
    })
    onTestFinished(async () => {
      await daemon.stop()
      await origin.stop()
    })
    const made = await daemon.run('stage:create', 'Sale', '--json')
    const { stage } = JSON.parse(made.stdout) as { stage: { id: string } }
    const answered: string[] = []
    const agent = new Agent({ keepAlive: true, maxSockets: 32 })
    let killed = false
    const producers = Array.from({ length: 32 }, async (_, producer) => {
      for (let number = 0; !killed; number += 1) {
        const requestUrl = `/${producer}/${number}`
        const status = await post(`${daemon.url}/vendor-stage/track`, agent, {
          popupId: stage.id,
          eventType: 'impression',
          requestUrl,
        }).catch(() => 0)
        if (status === 200) answered.push(requestUrl)
        if (answered.length >= 2000 && !killed) {
          killed = true
          daemon.kill('SIGKILL')
        }
      }
    })
    await Promise.all(producers)
    await daemon.ended
    agent.destroy()
    const database = new Database(join(projectDir, 'var/data/prod/records.sqlite'))
    const stored = new Set(database.prepare('select request_url from vendor_stage_event').pluck().all() as string[])
    const sum = database.prepare('select sum(impression) from vendor_stage_rollup').pluck().get()
    database.close()
    expect(answered.filter((url) => !stored.has(url))).toEqual([])
    expect(answered.length).toBeGreaterThanOrEqual(2000)
    expect(sum).toBe(stored.size)
  })
})

function post(url: string, agent: Agent, body: object): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method: 'POST', agent, headers: { 'content-type': 'application/json' } },
      (response) => {
        response.resume()
        response.once('end', () => resolve(response.statusCode ?? 0))
        response.once('error', reject)
      },
    )
    sent.once('error', reject)
    sent.end(JSON.stringify(body))
  })
}
