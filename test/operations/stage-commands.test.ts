import { describe, expect, it } from 'vitest'
import type * as stages from '../../src/operations/stages.ts'
import { runCommand } from '../helpers/commands.ts'
import { tempDir } from '../helpers/temp-dir.ts'

describe('the commands of stages', () => {
  const contentOf = async (args: string[], cwd: string) =>
    (JSON.parse((await runCommand(args, cwd)).stdout) as { stage: stages.StageValue }).stage.content

  it('make, change, show, list, count and delete a stage', async () => {
    const cwd = await tempDir()
    const made = await runCommand(
      ['stage:create', 'Sale', '--headline', 'Summer', '--cta-label', 'Go', '--cta-url', '/sale', '--json'],
      cwd,
    )
    expect(made).toMatchObject({ code: 0, stderr: '' })
    const { id } = (JSON.parse(made.stdout) as { stage: { id: string } }).stage
    expect(
      (await runCommand(['stage:update', id, '--no-stats', '--max-per-session', '3', '--json'], cwd)).stdout,
    ).toMatch(/"statsEnabled": false[\s\S]*"maxPerSession": 3/)
    expect((await runCommand(['stage:show', id], cwd)).stdout).toMatch(
      /statistics: off\n[\s\S]*button: Go \(url: \/sale\)/,
    )
    await runCommand(['stage:update', id, '--text', 'Everything must go.', '--dismiss-label', 'Never'], cwd)
    expect(
      await contentOf(['stage:update', id, '--text', '', '--dismiss-label', '', '--cta-label', '', '--json'], cwd),
    ).toMatchObject({ headline: 'Summer', text: null, dismissLabel: null, callToAction: null })
    expect((await runCommand(['stage:list'], cwd)).stdout).toContain(`${id}\tSale\tyes\toff\t90\talways\t3\tall`)
    expect((await runCommand(['stage:stats', id, '--from', '2026-01-01', '--to', '2026-01-03'], cwd)).stdout).toContain(
      '2026-01-02\t0\t0\t0\t0',
    )
    expect((await runCommand(['stage:stats', id, '--from', 'never'], cwd)).code).toBe(2)
    expect(await runCommand(['stage:stats', 'unknown'], cwd)).toMatchObject({
      code: 3,
      stderr: 'Error: There is no stage unknown.\nList them with: pagecache stage:list\n',
    })
    expect(await runCommand(['stage:stats', id, '--from', '0001-01-01', '--to', '9999-12-31'], cwd)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('longer than the maximum of 100 years') as string,
    })
    expect((await runCommand(['stage:show', id.replaceAll('-', '').toUpperCase()], cwd)).stdout).toContain(id)
    const look = ['--position', 'bar', '--accent', '#123456', '--open-after', '9', '--until', '2026-12-01T00:00+01:00']
    expect((await runCommand(['stage:update', id, ...look], cwd)).stdout).toMatch(
      /shown until: 2026-11-30T23:00:00.000Z\n[\s\S]*position: bar\n[\s\S]*accent: #123456\n[\s\S]*opens: after 9 seconds\n/,
    )
    const reset = await runCommand(['stage:update', id, '--accent', 'none', '--open-after', 'none', '--json'], cwd)
    expect(JSON.parse(reset.stdout)).toMatchObject({ stage: { look: { accent: null }, trigger: { delay: null } } })
    expect(await runCommand(['stage:update', id, '--until', 'tomorrow'], cwd)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--until: expected a time with its time zone') as string,
    })
    expect((await runCommand(['stage:duplicate', 'Sale', '--name', 'Other'], cwd)).stdout).toMatch(
      /name: Other\nactive: no\n/,
    )
    expect((await runCommand(['stage:preview', id], cwd)).stderr).toContain('There is no sales channel')
    expect(await runCommand(['stage:delete', id], cwd)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--events remove, and --yes to confirm. --yes alone keeps the events.') as string,
    })
    expect(await runCommand(['stage:delete', id, '--events', 'remove', '--yes'], cwd)).toMatchObject({
      code: 0,
      stdout: 'Stage Sale deleted. 0 events removed.\n',
    })
    expect((await runCommand(['stage:show', id], cwd)).code).toBe(3)
    expect(await runCommand(['customer:delete', 'c-1'], cwd)).toMatchObject({ code: 2 })
    expect(await runCommand(['customer:delete', 'c-1', '--yes', '--json'], cwd)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"mode": "anonymize"') as string,
    })
  })
})
