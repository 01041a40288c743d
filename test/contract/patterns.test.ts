import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const sources = globSync(['src/**/*.{ts,tsx}', 'commands/**/*.ts', 'bin/*.{js,cjs}'], { cwd: root }).map((file) => ({
  file,
  text: readFileSync(`${root}/${file}`, 'utf8'),
}))

/**
 * These are made of constants alone, or of the configuration's texts without any operator that repeats (`inAnySpelling`). A pattern of the
 * configuration, a client, a shop or a visitor is `globMatcher`'s or RE2's.
 */
const constant = [
  'src/cache/browser-values.ts',
  'src/cache/hot.ts',
  'src/lib/http-date.ts',
  'src/lib/ip-family.ts',
  'src/operations/openapi/example.ts',
  'src/remote/transport.ts',
]

it('no text from outside becomes a regular expression that backtracks', () => {
  expect(
    sources
      .filter(({ text }) => text.includes('new RegExp('))
      .map(({ file }) => file)
      .toSorted(),
  ).toEqual(constant)
})

it('no expression looks for a repetition at the end from every place: that is quadratic', () => {
  // A `/` that begins an expression stands behind a bracket, a comma, a sign or a space.
  const trailing =
    /[(,=:?] ?\/(?:\[(?:\\.|[^\]\\\n])+\]|\\.|[^\\/^()\n])[*+]\$\/[a-z]*[.,)]|\|(?:\[(?:\\.|[^\]\\\n])+\]|\\.)[*+]\$\//
  expect(sources.filter(({ text }) => trailing.test(text)).map(({ file }) => file)).toEqual([])
})
