import { readFile } from 'node:fs/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { Refusals } from '../../../src/cluster/shared/refusals.ts'
import { hasRedis, startRedis, type Redis } from '../../helpers/redis.ts'
import { createCertificate } from '../../helpers/certificate.ts'
import { freePort } from '../../helpers/daemon.ts'
import { tempDir } from '../../helpers/temp-dir.ts'
import { until } from '../../helpers/until.ts'
import { connected, openNode, Purges, type Node } from './nodes.ts'

const page = { fields: { 'Cache-Control': 'public, s-maxage=600' }, body: 'the page' }

describe.skipIf(!hasRedis)('Redis fails (skipped where redis-server is not installed)', () => {
  let redis: Redis
  let purges: Purges
  let paths = 0

  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis?.stop())

  beforeEach(() => {
    purges = new Purges()
  })

  async function open(url = redis.url, options: Parameters<typeof openNode>[2] = {}): Promise<Node> {
    const node = await openNode(url, purges, options)
    node.answers(page)
    return node
  }

  /** Opens connected nodes. Forgets what they said meanwhile: on a machine that stalls, an attempt to connect takes too long. */
  async function openConnected(...options: Parameters<typeof openNode>[2][]): Promise<[Node, Node]> {
    const nodes = await Promise.all([options[0], options[1]].map((each) => open(redis.url, each)))
    await Promise.all(nodes.map(connected))
    for (const { told } of nodes) told.length = 0
    return nodes as [Node, Node]
  }

  /** Visits a page that no node has. */
  async function visit(node: Node): Promise<string> {
    return (await node.visit(`/${(paths += 1)}`)).text
  }

  /** Resolves when a page of one node is a hit on another one. */
  const shares = (a: Node, b: Node) =>
    until(async () => {
      const path = `/${(paths += 1)}`
      const { written } = a.shared.counts
      await a.visit(path)
      await until(() => a.shared.counts.written > written || a.shared.counts.unwritten > 0)
      return (await b.visit(path)).field('cache-status')!.includes('another node')
    })

  it('serves visitors while it is away, from the start and later, and says so once', async () => {
    await redis.kill()
    const [a, b] = [await open(), await open()]
    for (let count = 0; count < 5; count++) expect(await visit(a)).toBe('the page')
    await until(() => a.told.length === 1)
    await redis.start()
    await Promise.all([a, b].map(connected))
    await shares(a, b)
    await redis.kill()
    for (let count = 0; count < 5; count++) expect(await visit(a)).toBe('the page')
    await redis.start()
    await Promise.all([a, b].map(connected))
    await shares(a, b)
    expect(a.told).toHaveLength(4)
    expect(a.told[0]).toContain('is unreachable')
    expect(a.told[1]).toBe(`Redis at 127.0.0.1:${redis.port} is reachable again`)
  })

  it('bypasses it while it hangs, and uses it again', async () => {
    const [a, b] = await openConnected({ limits: { least: 50, most: 50 } })
    redis.signal('SIGSTOP')
    try {
      await until(async () => {
        expect(await visit(a)).toBe('the page')
        return a.shared.faults.read !== null
      })
      expect(a.told).toEqual([expect.stringMatching(/is unreachable: no answer within 50 ms$/)])
      const { unavailable } = a.shared.counts
      expect(await visit(a)).toBe('the page')
      expect(a.shared.counts.unavailable).toBe(unavailable + 1)
    } finally {
      redis.signal('SIGCONT')
    }
    await connected(a)
    await shares(a, b)
  })

  it('has misses after it was flushed', async () => {
    const [a, b] = [await open(), await open()]
    await Promise.all([a, b].map(connected))
    await a.visit('/flushed')
    await until(() => a.shared.counts.written === 1)
    await redis.run('FLUSHALL')
    await redis.run('SCRIPT', 'FLUSH')
    expect((await b.visit('/flushed')).field('cache-status')).toContain('fwd=miss')
    await shares(a, b)
  })

  it('reads pages while its memory is full, and writes again when there is room', async () => {
    const [a, b] = await openConnected()
    await a.visit('/before')
    await until(() => a.shared.counts.written === 1)
    await redis.run('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    await redis.run('CONFIG', 'SET', 'maxmemory', '1')
    try {
      expect(await visit(a)).toBe('the page')
      await until(() => a.told.length === 1)
      expect(a.told[0]).toMatch(/refuses shared pages: OOM/)
      expect((await b.visit('/before')).field('cache-status')).toContain('another node')
      for (let count = 0; count < 5; count++) expect(await visit(a)).toBe('the page')
    } finally {
      await redis.run('CONFIG', 'SET', 'maxmemory', '0')
    }
    await until(async () => {
      await visit(a)
      return a.told.length === 2
    })
    expect(a.told[1]).toMatch(/accepts shared pages again/)
  })

  it('reads pages while it is a replica, and writes when it is the primary again', async () => {
    const [a, b] = await openConnected()
    await a.visit('/failover')
    await until(() => a.shared.counts.written === 1)
    await redis.run('REPLICAOF', '127.0.0.1', '1')
    try {
      expect(await visit(a)).toBe('the page')
      await until(() => a.told.length === 1)
      expect(a.told[0]).toMatch(/refuses shared pages: READONLY/)
      expect((await b.visit('/failover')).field('cache-status')).toContain('another node')
    } finally {
      await redis.run('REPLICAOF', 'NO', 'ONE')
    }
    await until(async () => {
      await visit(a)
      return a.told.length === 2
    })
    await shares(a, b)
  })

  it('does without it where the user has no rights', async () => {
    await redis.run('ACL', 'SETUSER', 'reader', 'on', '>password', '~*', '+@read', '+@connection', '+@scripting')
    await redis.run('ACL', 'SETUSER', 'idler', 'on', '>password', '~*', '+@connection')
    const at = (user: string) => redis.url.replace('//', `//${user}:password@`)
    const [reader, idler, stranger] = [await open(at('reader')), await open(at('idler')), await open(at('stranger'))]
    for (const node of [reader, idler]) await connected(node)
    for (const node of [reader, idler, stranger]) expect(await visit(node)).toBe('the page')
    await until(() => expect(reader.told.join()).toMatch(/refuses shared pages: NOPERM/))
    await until(() => expect(idler.told.join()).toMatch(/refuses reads of shared pages: NOPERM/))
    await until(() => expect(stranger.shared.faults.read).toMatch(/WRONGPASS/))
    expect([reader, idler, stranger].flatMap(({ told }) => told).join()).not.toContain('password@')
  })

  it('is used over TLS, if its certificate is trusted', async () => {
    const directory = await tempDir()
    const { key, cert } = createCertificate(directory, 'localhost')
    const port = await freePort()
    const settings = { 'tls-port': String(port), 'tls-cert-file': cert, 'tls-key-file': key, 'tls-ca-cert-file': cert }
    const secure = await startRedis({ ...settings, 'tls-auth-clients': 'no' })
    onTestFinished(() => secure.stop())
    const stranger = await open(`rediss://localhost:${port}`)
    await until(() => expect(stranger.shared.faults.read).toMatch(/self-signed certificate/))
    expect(await visit(stranger)).toBe('the page')
    const trusted = getCACertificates('default')
    setDefaultCACertificates([...trusted, await readFile(cert, 'utf8')])
    onTestFinished(() => setDefaultCACertificates(trusted))
    const [a, b] = [await open(`rediss://localhost:${port}`), await open(`rediss://localhost:${port}`)]
    await Promise.all([a, b].map(connected))
    await shares(a, b)
  })

  it('asks the shop where the purges since are unknown', async () => {
    const a = await open()
    const b = await open(redis.url, {
      clock: { now: () => null, admits: () => Promise.reject(new Error('the database is away')) },
    })
    await Promise.all([a, b].map(connected))
    await a.visit('/unknown')
    await until(() => a.shared.counts.written === 1)
    expect((await b.visit('/unknown')).field('cache-status')).toContain('fwd=miss')
    await b.shared.close()
    expect(b.shared.counts).toMatchObject({ hits: 0, written: 0, unavailable: 1 })
  })

  it('tries to get the secret of all nodes until it has it', async () => {
    let tries = 0
    const node = await open(redis.url, {
      secret: () =>
        (tries += 1) < 3 ? Promise.reject(new Error('the records are away')) : Promise.resolve(Buffer.alloc(32)),
    })
    expect(await visit(node)).toBe('the page')
    await connected(node)
    expect(tries).toBe(3)
    expect(node.told).toEqual([expect.stringContaining('the records are away'), expect.stringContaining('again')])
  })
})

describe('refusals', () => {
  it('says nothing about errors of a single command', () => {
    const told: (string | null)[] = []
    const refusals = new Refusals((reason) => told.push(reason))
    refusals.refused('WRONGTYPE Operation against a key holding the wrong kind of value')
    expect([refusals.isPaused, refusals.reason, told]).toEqual([false, null, []])
  })

  it('knows the refusal of a command within a script of Redis 6', () => {
    const refusals = new Refusals(() => {})
    refusals.refused(
      'ERR Error running script (call to f_1): @user_script:2: -OOM command not allowed when used memory',
    )
    expect([refusals.isPaused, refusals.reason]).toEqual([true, 'OOM command not allowed when used memory'])
  })
})
