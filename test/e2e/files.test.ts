import { createHash } from 'node:crypto'
import {
  appendFile,
  lstat,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  symlink,
  truncate,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startDaemon, type Daemon } from '../helpers/daemon.ts'
import { decoded, exchange, isHit } from '../helpers/exchange.ts'
import { startOrigin, type Origin } from '../helpers/origin.ts'
import { scratch } from '../helpers/scratch.ts'
import { until } from '../helpers/until.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { speak } from '../http/front/wire.ts'
import { page } from '../http/api/shop.ts'

let origin: Origin
beforeAll(async () => {
  origin = await startOrigin({ otherwise: (request) => page(`page of ${request.path} ${'x'.repeat(2000)}`) })
})
afterAll(() => origin.stop())

/** The files of bodies besides the known ones, as soon as there is one: a visitor does not wait for the writer. */
function storedBodies(site: Site, known: ReadonlySet<string> = new Set()): Promise<string[]> {
  return until(async () => {
    const found = (await site.bodies()).filter((each) => !known.has(each))
    if (found.length === 0) throw new Error('no body is stored yet')
    return found
  })
}

interface Site {
  projectDir: string
  pages: string
  daemon: Daemon
  /** Restarts the daemon, so that its memory is empty. */
  restart(): Promise<void>
  bodies(): Promise<string[]>
  stop(): Promise<void>
}

async function openSite(projectDir: string): Promise<Site> {
  const start = (port?: number) =>
    startDaemon({ projectDir, args: ['--origin', origin.url], ...(port === undefined ? {} : { port }) })
  const pages = join(projectDir, 'var/cache/prod/pages')
  const site: Site = {
    projectDir,
    pages,
    daemon: await start(),
    async restart() {
      await site.daemon.stop()
      site.daemon = await start(site.daemon.port)
    },
    bodies: async () => (await filesBeneath(join(pages, 'bodies'))).filter((file) => !file.endsWith('/')),
    stop: async () => void (await site.daemon.stop()),
  }
  return site
}

async function filesBeneath(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name))
}

async function withSite(use: (site: Site) => Promise<void>): Promise<void> {
  const site = await openSite(await tempDir())
  try {
    await use(site)
  } finally {
    await site.stop()
  }
}

const targets = [
  '/',
  '/a/b?c=d',
  '/../../etc/passwd',
  '/%2e%2e/%2e%2e/etc/passwd',
  '/..%2f..%2f..%2fevil',
  '/..%5c..%5cevil',
  '/a%00b',
  '/%2fetc%2fpasswd',
  `/${'long'.repeat(1500)}`,
  '/con',
  '/.htaccess',
  '/-rf',
  '/$(touch evil)',
  '/;evil',
  '//evil/evil',
  '/index.sqlite',
  '/tmp',
]

it('file names are hashes of the key, and only the owner has access', async () => {
  await withSite(async (site) => {
    const before = new Set(await filesBeneath(site.projectDir))
    for (const target of targets)
      await speak(
        site.daemon.port,
        `GET ${target.replaceAll(' ', '%20')} HTTP/1.1\r\nHost: ${site.daemon.host}\r\nConnection: close\r\n\r\n`,
      )
    const bodies = await until(async () => {
      const found = await site.bodies()
      expect(found.length).toBeGreaterThan(0)
      return found
    })
    for (const file of bodies) {
      expect(file.slice(join(site.pages, 'bodies').length)).toMatch(/^\/([0-9a-f]{2})\/\1[0-9a-f]{30}\.[0-9a-f]{8}$/)
    }
    const created = (await filesBeneath(site.projectDir)).filter((file) => !before.has(file))
    expect(created.filter((file) => !file.startsWith(`${site.pages}/`))).toEqual([])
    for (const file of [...bodies, join(site.pages, 'index.sqlite')])
      expect((await lstat(file)).mode & 0o777).toBe(0o600)
    for (const directory of [site.pages, join(site.pages, 'bodies'), join(site.pages, 'tmp'), join(bodies[0]!, '..')])
      expect((await lstat(directory)).mode & 0o777).toBe(0o700)
  })
})

/** Ways to damage the body file of a page; `others` are body files of other pages. */
const damages: Record<string, (file: string, others: readonly string[]) => Promise<void>> = {
  'a flipped bit': async (file) => {
    const body = await readFile(file)
    body[body.length >> 1]! ^= 1
    await writeFile(file, body)
  },
  'a flipped bit at the end': async (file) => {
    const body = await readFile(file)
    body[body.length - 1]! ^= 0x80
    await writeFile(file, body)
  },
  truncation: (file) => truncate(file, 10),
  'an empty file': (file) => truncate(file, 0),
  'no file': (file) => unlink(file),
  'the body of another page': async (file, [other]) => writeFile(file, await readFile(other!)),
  'a directory': async (file) => {
    await unlink(file)
    await mkdir(file)
  },
  'a link to the body of another page': async (file, [other]) => {
    await unlink(file)
    await symlink(other!, file)
  },
  'a link to itself': async (file) => {
    await unlink(file)
    await symlink(file, file)
  },
  'a link to the same bytes elsewhere': async (file) => {
    await rename(file, `${file}.moved`)
    await symlink(`${file}.moved`, file)
  },
  'a link to a device': async (file) => {
    await unlink(file)
    await symlink('/dev/zero', file)
  },
}

describe('a damaged body is a miss and never served', () => {
  const pathOf = (damage: string) => `/victim/${encodeURIComponent(damage)}`
  let site: Site
  beforeAll(async () => {
    site = await openSite((await scratch('pagecache-files')).path)
    await exchange(`${site.daemon.url}/other`)
    const others = await storedBodies(site)
    const known = new Set(others)
    const files = new Map<string, string>()
    for (const damage of Object.keys(damages)) {
      await exchange(site.daemon.url + pathOf(damage))
      const [file] = await storedBodies(site, known)
      known.add(file!)
      files.set(damage, file!)
    }
    await site.daemon.stop()
    for (const [name, damage] of Object.entries(damages)) await damage(files.get(name)!, others)
    await site.restart()
  })
  afterAll(() => site?.stop())

  it.each(Object.keys(damages))('%s', async (damage) => {
    const path = pathOf(damage)
    const before = origin.hits(path)
    const answer = await exchange(site.daemon.url + path)
    expect({ status: answer.status, hit: isHit(answer) }).toEqual({ status: 200, hit: false })
    expect(String(decoded(answer))).toContain(`page of ${path}`)
    expect(origin.hits(path)).toBe(before + 1)
  })

  it('bytes behind a body leave it as it is', async () => {
    const known = new Set(await storedBodies(site))
    await exchange(`${site.daemon.url}/longer`)
    const [file] = await storedBodies(site, known)
    await site.daemon.stop()
    await appendFile(file!, 'more')
    await site.restart()
    const answer = await exchange(`${site.daemon.url}/longer`)
    expect([isHit(answer), String(decoded(answer)).endsWith('more')]).toEqual([true, false])
  })

  it('the pages are stored again', async () => {
    await site.restart()
    for (const damage of Object.keys(damages))
      expect([damage, isHit(await exchange(site.daemon.url + pathOf(damage)))]).toEqual([damage, true])
  })
})

describe('links planted in the cache directory are not followed', () => {
  it('in place of shards, bodies and temporary files', async () => {
    const outside = await tempDir()
    await writeFile(join(outside, 'precious'), 'precious')
    await withSite(async (site) => {
      for (let shard = 0; shard < 256; shard++) {
        const path = join(site.pages, 'bodies', shard.toString(16).padStart(2, '0'))
        await rm(path, { recursive: true, force: true, maxRetries: 10 })
        await symlink(outside, path)
      }
      for (let number = 0; number < 20; number++) await exchange(`${site.daemon.url}/planted-${number}`)
      expect(await readdir(outside)).toEqual(['precious'])
      expect(await readFile(join(outside, 'precious'), 'utf8')).toBe('precious')
      expect((await exchange(`${site.daemon.url}/planted-0`)).status).toBe(200)
    })
  })

  it('in place of the page directory, at the start', async () => {
    const outside = await tempDir()
    const projectDir = await tempDir()
    await mkdir(join(projectDir, 'var/cache/prod'), { recursive: true })
    await symlink(outside, join(projectDir, 'var/cache/prod/pages'))
    const site = await openSite(projectDir).catch(() => null)
    if (site !== null) {
      await exchange(`${site.daemon.url}/page`)
      await site.stop()
    }
    expect(await readdir(outside)).toEqual([])
  })
})

it('the stored key is compared with the requested key', async () => {
  await withSite(async (site) => {
    await exchange(`${site.daemon.url}/one`)
    const [file] = await storedBodies(site)
    const name = /\/([0-9a-f]{32})\./.exec(file!)![1]
    // The file name is a hash of the whole key, not of the path or the URL.
    for (const text of ['/one', `${site.daemon.url}/one`])
      expect(createHash('sha256').update(text).digest('hex').slice(0, 32)).not.toBe(name)
    for (const path of ['/two', '/one?x=1', '/One', '/one/'])
      expect(isHit(await exchange(site.daemon.url + path))).toBe(false)
    expect(isHit(await exchange(`${site.daemon.url}/one`))).toBe(true)
  })
})
