import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openQueue } from '../../src/queue/records-queue.ts'
import { openRecords } from '../../src/records/open.ts'
import { run } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'
import { hasTmux, openTerminal } from '../helpers/tmux.ts'

const program = `node ${fileURLToPath(new URL('../../bin/run.js', import.meta.url))}`
const id = '0190c0de-0000-7000-8000-00000000000a'

/** Arguments of every command that asks for confirmation. */
const confirmed: Record<string, string[]> = {
  'client:revoke': [id],
  'client:rotate-key': ['--drop-old'],
  'cluster:forget': ['node-1'],
  'customer:delete': ['customer-1'],
  'invalidation-log:clear': [],
  'messenger:failed:remove': ['--all'],
  'messenger:failed:retry': [],
  'reverse-proxy:clear': [],
  'stage:delete': [id],
}

it('covers every command that asks for confirmation', async () => {
  const { commands } = JSON.parse(await readFile(new URL('../../oclif.manifest.json', import.meta.url), 'utf8')) as {
    commands: Record<string, { flags: { yes?: { hidden?: boolean } } }>
  }
  expect(
    Object.keys(commands).filter(
      (name) => commands[name]!.flags.yes !== undefined && !commands[name]!.flags.yes.hidden,
    ),
  ).toEqual(Object.keys(confirmed))
})

it.each(Object.entries(confirmed))('%s refuses to run without a terminal and without --yes', async (command, args) => {
  const { code, stdout, stderr } = await run([command, ...args], { cwd: await tempDir(), input: 'y\n' })
  expect(stderr).toMatch(/there is no terminal\.\nAdd .*--yes to confirm\./)
  expect([code, stdout]).toEqual([2, ''])
  // The message names the flag, although there is no terminal either.
  expect((await run([command, ...args, '--no-input'], { cwd: await tempDir() })).stderr).toContain('--no-input is set')
})

it('client:rotate-key asks only with --drop-old', async () => {
  const cwd = await tempDir()
  expect((await run(['client:rotate-key'], { cwd })).code).toBe(0)
  expect((await run(['client:rotate-key', '--drop-old', '--yes'], { cwd })).stdout).toContain(
    'Older tokens are invalid.',
  )
})

async function addFailedMessage(projectDir: string): Promise<void> {
  const records = await openRecords({ directory: join(projectDir, 'var/data/prod'), now: Date.now })
  await openQueue(records, Date.now).dispatch([{ transport: 'async', type: 'notify.send', payload: null }])
  await records.db.updateTable('queue_messages').set({ transport: 'failed', origin: 'async', failed_at: 1 }).execute()
  await records.close()
}

describe.runIf(hasTmux)('a confirmation on a terminal', () => {
  it.each(Object.entries(confirmed))(
    'of %s that is declined exits with 0 and changes nothing',
    async (command, args) => {
      const cwd = await tempDir()
      if (command.startsWith('messenger:failed')) await addFailedMessage(cwd)
      const terminal = await openTerminal(`${program} ${command} ${args.join(' ')}; echo "code $?"`, {
        columns: 120,
        rows: 20,
        cwd,
      })
      await terminal.see(/\[y\/N\]|\(keep\/remove\)/)
      await terminal.keys('n', 'Enter')
      const screen = await terminal.see('code ')
      expect(screen).toMatch(/^Nothing was changed\.\ncode 0$/m)
      expect(screen).not.toContain('Error')
    },
  )

  it('init asks nothing where the file exists, which it does not overwrite', async () => {
    const terminal = await openTerminal(`echo > pagecache.yaml; ${program} init; echo "code $?"`, {
      columns: 120,
      rows: 20,
      cwd: await tempDir(),
    })
    const screen = await terminal.see('code ')
    expect(screen).toContain('pagecache.yaml')
    expect(screen).not.toMatch(/Which kind|Wrote/)
  })

  it.each([
    ['retry', 'There are no failed messages.'],
    ['remove --all', '0 messages deleted.'],
  ])('is not asked for by messenger:failed:%s where no message has failed', async (command, answer) => {
    const terminal = await openTerminal(`${program} messenger:failed:${command}; echo "code $?"`, {
      columns: 120,
      rows: 20,
      cwd: await tempDir(),
    })
    expect(await terminal.see('code 0')).toContain(answer)
  })

  it.each([
    ['Enter', 0],
    ['C-d', 0],
    ['C-c', 130],
  ])('that is answered with %s exits with %d', async (key, code) => {
    const terminal = await openTerminal(`${program} reverse-proxy:clear; echo "code $?"`, {
      columns: 120,
      rows: 20,
      cwd: await tempDir(),
    })
    await terminal.see('[y/N]')
    await terminal.keys(key)
    expect(await terminal.see('code ')).toMatch(new RegExp(`Nothing was changed\\.\ncode ${code}`))
  })
})
