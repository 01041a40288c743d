import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { commandReference } from '../../scripts/command-reference.ts'
import { commandSurface, configurationSurface, type Manifest } from '../../scripts/surface.ts'

const regenerate = 'if the change is intended: npm run snapshot'

function read(file: string): string {
  return readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
}

const manifest = JSON.parse(read('oclif.manifest.json')) as Manifest

describe('the stable surface', () => {
  it('has the commands, arguments, flags and exit codes of the snapshot', () => {
    expect(commandSurface(manifest), regenerate).toEqual(JSON.parse(read('test/contract/commands.json')))
  })

  it('has the configuration keys, defaults and environment variables of the snapshot', () => {
    expect(configurationSurface(), regenerate).toEqual(JSON.parse(read('test/contract/configuration.json')))
  })

  it('has every key, default and variable in docs/configuration.md', () => {
    const guide = read('docs/configuration.md')
    for (const [key, { default: initial, variable }] of Object.entries(configurationSurface())) {
      const name = key.split('.').slice(1).join('.') || key
      if (variable === null) expect(guide).toMatch(new RegExp(`(## |\\| \`)${name.replaceAll('.', '\\.')}\\b`))
      else expect(guide).toMatch(new RegExp(`\\| \`${name}\` \\| \`${String(initial)}\` \\|.*\\(\`${variable}\`\\)`))
    }
  })

  it('lists in the command reference as flags of every command only those that each has', () => {
    const [, list = ''] = commandReference(manifest).split('Flags of every command:\n\n')
    const names = [...list.split('\n\n', 1)[0]!.matchAll(/^- `--([\w-]+)/gm)].map(([, name]) => name!)
    expect(names).toContain('json')
    for (const [id, { flags }] of Object.entries(manifest.commands))
      expect(Object.keys(flags), id).toEqual(expect.arrayContaining(names))
    expect(commandReference(manifest)).toMatch(/## status\n[^#]*- `--watch`/)
  })

  it('has an up-to-date command reference', () => {
    expect(read('docs/commands.md'), regenerate).toBe(commandReference(manifest))
  })
})

describe.each(Object.entries(manifest.commands))('%s', (_, command) => {
  it('has a summary and at least two examples', () => {
    expect(command.summary).toMatch(/\.$/)
    expect(command.examples?.length).toBeGreaterThanOrEqual(2)
  })

  it('has --json and a line for every flag and argument', () => {
    expect(command.flags).toHaveProperty('json')
    for (const flag of Object.values(command.flags)) expect(flag.summary ?? flag.description).toBeTruthy()
    for (const argument of Object.values(command.args)) expect(argument.description).toBeTruthy()
  })
})
