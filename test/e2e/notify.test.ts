import { createHmac } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { expect, it, onTestFinished } from 'vitest'
import { runCommand } from '../helpers/commands.ts'
import { startOrigin } from '../helpers/origin.ts'
import { tempDir } from '../helpers/temp-dir.ts'

it('sends a test notification signed with the secret of the environment, and shows neither it nor the URLs', async () => {
  const receiver = await startOrigin()
  onTestFinished(() => receiver.stop())
  receiver.on('/canary-path', { status: 204 })
  receiver.on('/closed', { status: 500 })
  const projectDir = await tempDir()
  const webhooks = [
    { name: 'ops', url: `${receiver.url}/canary-path` },
    { name: 'chat', type: 'slack', url: `${receiver.url}/closed?canary` },
  ]
  await writeFile(join(projectDir, 'pagecache.yaml'), stringify({ notify: { webhooks } }))
  const secret = 'canary-secret-of-the-environment'
  const run = (...args: string[]) => runCommand(args, projectDir, { PAGECACHE_NOTIFY_SECRET: secret })

  const both = await run('notify:test', '--json')
  expect(both.code).toBe(1)
  expect(JSON.parse(both.stdout)).toMatchObject({
    success: false,
    webhooks: [
      { name: 'ops', accepted: true, status: 204, error: null },
      { name: 'chat', accepted: false, status: 500, error: 'it answered 500' },
    ],
  })
  const { headers, body } = receiver.last('/canary-path')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', secret).update(signed).digest('base64')}`)
  expect(JSON.parse(receiver.last('/closed').body.toString())).toEqual({
    text: expect.stringContaining('Test notification'),
  })

  const [one, unknown, config] = [
    await run('notify:test', 'ops'),
    await run('notify:test', 'op'),
    await run('config:show'),
  ]
  expect([one.code, unknown.code, unknown.stderr]).toEqual([0, 3, expect.stringContaining('Did you mean ops?')])
  expect(config.stdout).toMatch(/notify\.webhooks\[0\]\.url\s+"\*\*\*"/)
  expect([both, one, unknown, config].map(({ stdout, stderr }) => stdout + stderr).join('')).not.toContain('canary')
})
