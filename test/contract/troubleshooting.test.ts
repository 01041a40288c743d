import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { errorCodes, PagecacheError } from '../../src/errors.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const guide = readFileSync(`${root}/docs/troubleshooting.md`, 'utf8')
const sources = globSync('src/**/*.ts', { cwd: root }).map((file) => readFileSync(`${root}/${file}`, 'utf8'))
const program = sources.join('\n')

/** The text of a section, up to the next heading of its level or above. */
function sectionOf(heading: string): string {
  const level = heading.indexOf(' ')
  const [, rest] = guide.split(`\n${heading}\n`)
  return rest?.split(new RegExp(`^#{1,${level}} `, 'm'))[0] ?? ''
}

describe('docs/troubleshooting.md', () => {
  it('explains every error code and no other', () => {
    const explained = [...guide.matchAll(/^#### (\w+)$/gm)].map(([, code]) => code!)
    expect(explained.toSorted()).toEqual([...errorCodes].toSorted())
  })

  it.each(errorCodes)('names the exit code and the status of %s, and explains it', (code) => {
    const { exit, status } = new PagecacheError(code, '')
    const text = sectionOf(`#### ${code}`).trim()
    const [facts] = text.split('. ', 1)
    expect(facts).toBe(`Exit code ${exit}, status ${status}`)
    expect(text.length - facts!.length).toBeGreaterThan(20)
  })

  it.each(['## Messages in the log', '## Findings of doctor'])('quotes only messages that exist: %s', (heading) => {
    const quoted = [...sectionOf(heading).matchAll(/^\| `([^`]+)` \|/gm)].map(([, message]) => message!)
    expect(quoted.length).toBeGreaterThan(10)
    const parts = quoted.flatMap((message) => message.split('…').map((part) => part.trim()))
    expect(parts.filter((part) => !program.includes(part))).toEqual([])
  })

  it('has a row for each warning and error that the daemon logs', () => {
    const rows = [...sectionOf('## Messages in the log').matchAll(/^\| (`[^|]+`)[^|`]* \|/gm)]
    const known = rows
      .flatMap(([, cell]) => [...cell!.matchAll(/`([^`]+)`/g)].map(([, message]) => partsOf(message!, /…/)))
      .filter((parts) => fixedLength(parts) >= 10)
    const logged = globSync(
      ['src/{auth,cache,daemon,http,notify,pages,purge,queue,records,stages,traffic,workers}/**/*.ts'],
      { cwd: root },
    )
      .flatMap((file) => [...readFileSync(`${root}/${file}`, 'utf8').matchAll(logging)])
      .map(([, , message]) => message!)
      // Other texts are put together from variables alone.
      .filter((message) => fixedLength(partsOf(message, /\$\{[^}]*\}/)) >= 10)
    expect(logged.length).toBeGreaterThan(20)
    expect(logged.filter((message) => !known.some((parts) => parts.every((part) => message.includes(part))))).toEqual(
      [],
    )
  })
})

/** A call that logs a text: a warning, or an error with its cause. */
const logging = /(?:\blog\.(?:warn|error)|\bonError)\(\s*(['`])((?:(?!\1)[^])+?)\1/g

function partsOf(message: string, variable: RegExp): string[] {
  return message
    .split(variable)
    .map((part) => part.trim())
    .filter((part) => part.length > 3)
}

function fixedLength(parts: readonly string[]): number {
  return parts.join('').length
}
