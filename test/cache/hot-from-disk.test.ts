import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as pause } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openPages } from '../stores/pages.ts'
import type { Fields } from './scripted-origin.ts'
import { openSite, shopUrl, type Site } from './site.ts'

const html = '<p>A page of a shop.</p>'.repeat(100)
const fields = { 'Cache-Control': 'public, max-age=60', 'Content-Type': 'text/html', ETag: '"a"' }

describe('a page that is on disk and not in memory', () => {
  /** A site with more pages than its memory takes; `/a` is the one that has left memory. */
  async function openCrowdedSite(): Promise<Site> {
    const site = await openSite({ memory: 40_000, compression: false })
    onTestFinished(() => site.close())
    site.answers(({ target }) => ({ fields, body: `${target} ${html}` }))
    for (const target of [...Array.from({ length: 20 }, (_, number) => `/others/${number}`), '/a'])
      await site.visit(target)
    site.origin.requests.length = 0
    return site
  }

  it('is found where the request began before the turn, until it was purged', async () => {
    const site = await openCrowdedSite()
    expect((await site.visit('/a', { beganEarlier: true })).hot).toBe(true)
    const other = await openPages({ directory: site.directory })
    expect(await other.pages.remove({ kind: 'urls', urls: [`${shopUrl}/others/0`, `${shopUrl}/a`] })).toBe(2)
    await pause()
    expect((await site.visit('/others/0', { beganEarlier: true })).hot).toBe(false)
    expect((await site.visit('/a', { beganEarlier: true })).hot).toBe(false)
  })

  it.each<[string, string, Fields, number]>([
    ['GET', '/a', {}, 200],
    ['GET', '/a', { Range: 'bytes=0-1' }, 206],
    ['GET', '/a', { 'If-None-Match': '"a"' }, 304],
    ['HEAD', '/a', {}, 200],
  ])('is answered to %s %s %j by the hot path', async (method, target, visitor, status) => {
    const site = await openCrowdedSite()
    const short = await site.visit(target, { method, fields: visitor })
    const long = await site.visit(target, { method, fields: visitor, long: true })
    expect({ hot: short.hot, status: short.status, headers: short.headers, text: short.text }).toEqual({
      hot: true,
      status,
      headers: long.headers,
      text: long.text,
    })
    expect(site.origin.requests).toEqual([])
  })

  it('is fetched again where its body was altered', async () => {
    const site = await openCrowdedSite()
    const bodies = join(site.directory, 'pages', 'bodies')
    for (const name of await readdir(bodies, { recursive: true })) {
      const file = join(bodies, name)
      if ((await stat(file)).isFile()) await writeFile(file, 'x'.repeat((await stat(file)).size))
    }
    const short = await site.visit('/a')
    expect({ hot: short.hot, text: short.text }).toEqual({ hot: false, text: `/a ${html}` })
    expect(site.origin.requests).toHaveLength(1)
    expect(site.faults).toEqual([expect.stringContaining('missing or altered')])
  })

  it('is not served after it was purged', async () => {
    const site = await openCrowdedSite()
    await site.store.remove({ kind: 'urls', urls: [`${shopUrl}/a`] })
    expect((await site.visit('/a')).hot).toBe(false)
    expect(site.origin.requests).toHaveLength(1)
  })

  it('is read on the regular path for a second after a slow disk, and for less after two slow reads without one', async () => {
    const { store } = await openCrowdedSite()
    const page = store.find(`c1 ${shopUrl}/a`)[0]!
    const usage = process.resourceUsage()
    let fsRead = usage.fsRead + 1
    const blocks = vi.spyOn(process, 'resourceUsage').mockImplementation(() => ({ ...usage, fsRead }))
    onTestFinished(() => blocks.mockRestore())
    const read = (started: number, ended: number) => {
      const clock = vi.spyOn(performance, 'now').mockReturnValueOnce(started).mockReturnValue(ended)
      const body = store.readBodyNow(page)
      clock.mockRestore()
      return body?.toString() ?? null
    }
    const body = `/a ${html}`
    expect([read(0, 6), read(1005, 1005), read(1007, 1008), read(1009, 1010)]).toEqual([body, null, body, body])
    expect([read(2000, 2006), read(2065, 2065), read(2067, 2073), read(2075, 2075)]).toEqual([body, body, body, body])
    expect([read(2100, 2106), read(2165, 2165), read(2167, 2168)]).toEqual([body, null, body])
    // Another thread has read from a disk, before this read began.
    fsRead += 1
    expect([read(2500, 2506), read(2565, 2565)]).toEqual([body, body])
    expect(read(2990, 2990)).toBe(body)
    fsRead += 1
    expect([read(3000, 3006), read(3067, 3067), read(4005, 4005), read(4007, 4008)]).toEqual([body, null, null, body])
  })
})
