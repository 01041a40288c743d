import { createHmac, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { openRecords } from '../helpers/records.ts'
import { run } from '../helpers/cli.ts'
import { answers } from '../helpers/child.ts'
import { startDaemon } from '../helpers/daemon.ts'
import { childrenOf, isGone } from '../helpers/processes.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { until } from '../helpers/until.ts'

const stages = { customerToken: { cookie: 'shop-customer', secretFile: 'customer.secret' } }

function tokenOf(customer: string, secret: string): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256' })}.${part({ sub: customer, exp: Math.floor(Date.now() / 1000) + 600 })}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}

it('serve does not start without a key that is one, and says which', async () => {
  const cwd = await tempDir()
  await writeFile(join(cwd, 'pagecache.yaml'), stringify({ server: { port: 0 }, stages }))
  const { code, stderr } = await run(['serve'], { cwd, alone: true })
  expect(code).toBe(2)
  expect(stderr).toMatch(/stages\.customerToken\.secretFile \(pagecache\.yaml:\d+\): cannot be read: ENOENT/)
  expect((await run(['config:show'], { cwd })).code).toBe(0)
})

it.each([1, 2])('a reload replaces the key; an invalid key changes nothing (processes: %i)', async (processes) => {
  const projectDir = await tempDir()
  const [first, second] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')]
  const write = (secret: string) => writeFile(join(projectDir, 'customer.secret'), secret, { mode: 0o600 })
  await write(first)
  const daemon = await startDaemon({
    projectDir,
    args: ['--origin', 'http://127.0.0.1:9', '--no-workers'],
    config: { server: { processes }, stages },
  })
  onTestFinished(async () => void (await daemon.stop()))
  const made = await daemon.run('stage:create', 'Sale', '--json')
  const { id } = (JSON.parse(made.stdout) as { stage: { id: string } }).stage
  const records = await openRecords({ directory: join(projectDir, 'var/data/prod'), now: Date.now })
  onTestFinished(() => records.close())
  let sent = 0
  /** The customer of the visitor's event. */
  const customerOf = async (secret: string) => {
    const pageType = String((sent += 1))
    const cookie = `shop-customer=${tokenOf('customer-7', secret)}`
    const body = JSON.stringify({ popupId: id, eventType: 'close', pageType })
    const send = () =>
      fetch(`${daemon.url}/vendor-stage/track`, {
        method: 'POST',
        headers: { cookie },
        body,
        signal: AbortSignal.timeout(2000),
      }).then(
        (answer) => answer.status === 200,
        () => false,
      )
    // Retried: a request that an exited process had accepted is never answered.
    await until(send)
    return (
      await records.db
        .selectFrom('vendor_stage_event')
        .select('customer_id')
        .where('page_type', '=', pageType)
        .executeTakeFirstOrThrow()
    ).customer_id
  }
  const reload = async (says: string) => {
    const before = daemon.logs().split(says).length
    daemon.kill('SIGHUP')
    await until(() => daemon.logs().split(says).length > before)
  }
  expect(await customerOf(first)).toBe('customer-7')
  await write('canary')
  await reload('was not reloaded')
  expect(await customerOf(first)).toBe('customer-7')
  if (processes > 1) {
    const killed = await childrenOf(daemon.pid)
    for (const pid of killed) process.kill(pid, 'SIGKILL')
    await until(async () => (await Promise.all(killed.map(isGone))).every(Boolean))
    await until(() => answers(`${daemon.url}/readyz`))
    expect(await customerOf(first)).toBe('customer-7')
  }
  await write(second)
  await reload('The configuration was reloaded')
  // One process at a time.
  await until(async () => (await customerOf(second)) === 'customer-7')
  await until(async () => (await customerOf(first)) === null)
  for (const text of ['canary', first, second]) expect(daemon.logs()).not.toContain(text)
})
