import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openRecords } from '../helpers/records.ts'
import { openQueue } from '../../src/queue/records-queue.ts'
import { run, start } from '../helpers/cli.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { claimOne } from '../queue/consuming.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

async function project() {
  const cwd = await tempDir()
  const directory = join(cwd, 'var/data/prod')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const records = await openRecords({ directory, now: Date.now })
  onTestFinished(() => records.close())
  return { cwd, records, queue: openQueue(records, Date.now), pagecache: (...args: string[]) => run(args, { cwd }) }
}

/** Takes one message and fails it. */
async function fail(queue: ReturnType<typeof openQueue>, error: string) {
  const worker = await queue.join({ kind: 'consumer', transports: ['async', 'scheduler'], types: ['test'] })
  await worker.fail((await claimOne(worker, 'test'))!, error)
  await worker.leave()
}

describe('messenger:consume', () => {
  it.each([
    ['async', '--memory-limit', '5Q'],
    ['async', '--limit', '0'],
    ['async', '--sleep', 'x'],
    ['asnyc'],
    ['async', '--config', 'nothing.yaml'],
  ])('announces nothing before a wrong argument: %j', async (...args) => {
    const { pagecache } = await project()
    const { code, stdout, stderr } = await pagecache('messenger:consume', ...args)
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(/^Error: /)])
  })

  it('says what it does in the words that operators know, and ends at its limit', async () => {
    const { pagecache } = await project()
    const { code, stdout, stderr } = await pagecache(
      'messenger:consume',
      'async',
      '--time-limit',
      '1',
      '--memory-limit',
      '2G',
    )
    expect(code).toBe(0)
    expect(stderr).toContain('[OK] Consuming messages from transport "async".')
    expect(stderr).toContain(
      'The worker will automatically exit once it has exceeded 2G of memory, been running for 1s or received a stop signal via the messenger:stop-workers command.',
    )
    expect(stdout).toContain('0 messages; time limit reached.')
    const json = JSON.parse((await pagecache('messenger:consume', '--time-limit=1', '--json')).stdout) as unknown
    expect(json).toEqual({ success: true, receivers: ['async', 'scheduler'], messages: 0, failures: 0, end: 'time' })
  })

  it.each([
    [['nope'], 'The receiver "nope" does not exist. Valid receivers are: async, scheduler.'],
    [['async', '--limit', 'x'], '--limit: expected a whole number from 1, not "x"'],
    [['async', '--limit', '0'], '--limit: expected a whole number from 1, not "0"'],
    [['async', '--time-limit', '-1'], '--time-limit: expected a whole number from 1, not "-1"'],
    [['async', '--memory-limit', 'much'], '--memory-limit: expected a size such as 128M, not "much"'],
    [['async', '--sleep', 'long'], '--sleep: expected a number of seconds, not "long"'],
  ])('%j is refused', async (args, message) => {
    const { pagecache } = await project()
    const { code, stderr } = await pagecache('messenger:consume', ...args)
    expect([code, stderr.split('\n').find((line) => line.startsWith('Error:'))]).toEqual([2, `Error: ${message}`])
  })

  it('exits with 0 after a signal or messenger:stop-workers', async () => {
    const { cwd, queue, pagecache } = await project()
    for (const stop of ['signal', 'command']) {
      const child = start(['messenger:consume'], { cwd })
      const ended = new Promise((resolve) => child.once('exit', resolve))
      await until(async () => (await queue.statistics()).workers.length === 1)
      if (stop === 'signal') child.kill('SIGTERM')
      else
        expect((await pagecache('messenger:stop-workers')).stdout).toContain(
          'Signal successfully sent to stop any running workers',
        )
      expect(await ended).toBe(0)
      expect((await queue.statistics()).workers).toEqual([])
    }
  })
})

describe('messenger:stats and messenger:failed', () => {
  it('show what waits and what failed, retry and remove it', async () => {
    const { queue, pagecache } = await project()
    await queue.dispatch([
      { transport: 'async', type: 'test', payload: { url: 'http://shop/\u001b[2J' } },
      { transport: 'scheduler', type: 'test', payload: 2 },
      { transport: 'async', type: 'later', payload: 3, delay: 60_000 },
    ])
    await fail(queue, 'origin said \u001b[31mno')
    await fail(queue, 'no again')

    const stats = await pagecache('messenger:stats')
    expect(stats.stdout).toContain('async\t1\t0\t1\t0\t-')
    expect(stats.stdout).toContain('failed\t2')
    expect(JSON.parse((await pagecache('messenger:stats', '--json')).stdout)).toMatchObject({
      success: true,
      transports: [{ name: 'async', count: 1, delayed: 1 }, {}, {}],
      failed: 2,
    })

    const chosen = await pagecache('messenger:stats', 'scheduler', 'nope', '--json')
    expect(JSON.parse(chosen.stdout)).toMatchObject({ transports: [{ name: 'scheduler' }], failed: 2 })
    expect(chosen.stderr).toContain('[WARNING] The "nope" transport does not exist.')

    const shown = await pagecache('messenger:failed:show')
    expect(shown.stdout).toContain('Id\tClass\tFailed at\tError')
    expect(shown.stdout).not.toContain('\u001b')
    expect((await pagecache('messenger:failed:show', '--stats')).stdout).toContain('test\t2')
    const { items } = JSON.parse(
      (await pagecache('messenger:failed:show', '--transport', 'async', '--json')).stdout,
    ) as { items: { id: string }[] }
    expect(items).toHaveLength(1)
    const one = await pagecache('messenger:failed:show', items[0]!.id)
    expect(one.stdout).toContain('Attempts: 1')
    expect(one.stdout).not.toContain('\u001b')

    expect((await pagecache('messenger:failed:retry', 'no-such-id')).code).toBe(3)
    expect((await pagecache('messenger:failed:retry', items[0]!.id)).stdout).toContain('1 message will be retried')
    expect((await queue.statistics()).transports[0]).toMatchObject({ waiting: 1 })

    const refused = await pagecache('messenger:failed:remove', '--all')
    expect([refused.code, (await queue.statistics()).failed]).toEqual([2, 1])
    const unnamed = await pagecache('messenger:failed:remove')
    expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringContaining('No messages selected')])
    expect((await pagecache('messenger:failed:remove', '--all', '--force')).stdout).toContain('1 message deleted')
    expect((await queue.statistics()).failed).toBe(0)
  })

  it('doctor warns about unclaimed and failed messages', async () => {
    const { queue, pagecache } = await project()
    await queue.dispatch([{ transport: 'async', type: 'test', payload: 1 }])
    await fail(queue, 'broken')
    await queue.dispatch([{ transport: 'scheduler', type: 'test', payload: 2 }])
    const { stdout } = await pagecache('doctor')
    expect(stdout).toContain('warn  queue: 1 message on scheduler')
    expect(stdout).toContain('warn  failed messages: 1 failed message')
  })
})

describe('serve', () => {
  it('works both transports inside, keeps its workers at stop-workers, and leaves nothing behind', async () => {
    const { cwd, queue } = await project()
    const daemon = await startDaemon({ projectDir: cwd, args: ['--origin', 'http://127.0.0.1:1'] })
    onTestFinished(async () => void (await daemon.stop()))
    await until(async () => (await queue.statistics()).workers.length === 2)
    const { workers } = await queue.statistics()
    for (const worker of workers) expect(worker).toMatchObject({ kind: 'daemon', pid: daemon.pid })
    // Deliveries have a worker of their own, in the purge thread.
    expect(workers.map(({ transports }) => transports.join()).sort()).toEqual(['async', 'async,scheduler'])
    expect(JSON.parse((await daemon.run('messenger:stop-workers', '--json')).stdout)).toMatchObject({ workers: 0 })
    expect(await daemon.stop()).toBe(0)
    expect((await queue.statistics()).workers).toEqual([])
  })

  it('has no worker with --no-workers', async () => {
    const { cwd, queue } = await project()
    const daemon = await startDaemon({ projectDir: cwd, args: ['--origin', 'http://127.0.0.1:1', '--no-workers'] })
    onTestFinished(async () => void (await daemon.stop()))
    expect((await queue.statistics()).workers).toEqual([])
    expect(existsSync(join(cwd, 'var/data/prod/records.sqlite'))).toBe(true)
  })
})
