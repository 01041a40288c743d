import { existsSync, readFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The committed and new text files that people read; generated files repeat what their sources say. */
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => /\.(md|ts|tsx|js|cjs|ya?ml|vcl|service|socket)$|Containerfile$/.test(file))
  .filter((file) => !['docs/commands.md', 'test/contract/documents.test.ts'].includes(file))
  .filter((file) => existsSync(join(root, file)))

const read = (file: string) => readFileSync(join(root, file), 'utf8')
const documents = files.filter((file) => file.endsWith('.md'))

/** Every line of these files that matches, as `file:line: match`. */
function matches(within: readonly string[], pattern: RegExp): string[] {
  return within.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) => {
        const found = pattern.exec(line)
        return found ? [`${file}:${index + 1}: ${found[0]}`] : []
      }),
  )
}

/** GitHub's anchor of a heading: lower case, punctuation dropped, spaces as hyphens. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** A document without its fenced code blocks. */
const proseOf = (text: string) => text.replace(/^```.*?^```/gms, '')

const headingsOf = (file: string) => [...proseOf(read(file)).matchAll(/^#+ (.+)$/gm)].map((match) => match[1]!.trim())

/** The links of a document whose file or heading does not exist. */
function brokenLinks(document: string): string[] {
  const links = [...proseOf(read(document)).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map((match) => match[1]!)
  return links.filter((link) => {
    const [path = '', anchor] = link.split('#')
    const file = path === '' ? document : normalize(join(dirname(document), path))
    if (!existsSync(join(root, file))) return true
    return anchor !== undefined && !headingsOf(file).map(anchorOf).includes(anchor)
  })
}

/** The decision records and other documents that a file names by path, but that do not exist. */
function brokenPaths(file: string): string[] {
  const paths = [...read(file).matchAll(/(?<![\w./-])docs\/[\w/-]+\.(?:md|ya?ml|json|vcl|service|socket)\b/g)]
  return paths.map(([path]) => path).filter((path) => !existsSync(join(root, path)))
}

describe('references', () => {
  it('names no document that is not in the repository', () => {
    const cited = /contract\ssection|\bspec(?:ification)?\s[12]\b|\bthreat[s]\b|\bfacts[.]md\b/i
    const outside = /(?<![\w/.-])shared\/(?:architecture|contract|facts|language|reference|spec|style|threats)\b/
    expect([...matches(files, cited), ...matches(files, outside)]).toEqual([])
  })

  it.each(documents)('%s links to files and headings that exist', (document) => {
    expect(brokenLinks(document)).toEqual([])
  })

  it('names only documents that exist', () => {
    expect(files.flatMap((file) => brokenPaths(file).map((path) => `${file}: ${path}`))).toEqual([])
  })

  it('names only files that exist in ARCHITECTURE.md', () => {
    const named = [...read('ARCHITECTURE.md').matchAll(/`((?:src|test|bench|scripts|docs)\/[^`\s<*]+)`/g)]
    expect(named.map((match) => match[1]!).filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  it('numbers the decision records without gaps', () => {
    const numbers = documents
      .filter((file) => file.startsWith('docs/decisions/'))
      .map((file) => Number(/\/(\d{4})-/.exec(file)?.[1]))
      .toSorted((a, b) => a - b)
    expect(numbers).toEqual(numbers.map((_, index) => index + 1))
    for (const number of numbers)
      expect(documents.some((file) => new RegExp(`/${String(number).padStart(4, '0')}-`).test(file))).toBe(true)
  })
})

it('takes the figures at the top of the README from docs/performance.md', () => {
  const figures = [...read('README.md').matchAll(/^\| \*\*([\d.]+) [^|]+\|/gm)].map((match) => match[1]!)
  expect(figures.length).toBe(3)
  const cells = read('docs/performance.md')
    .split(/[|;\n]/)
    .map((cell) => cell.replace(/\(.*\)/, '').trim())
  expect(figures.filter((figure) => !cells.includes(figure))).toEqual([])
})

describe('plain English', () => {
  const banned =
    /\b(?:whoever|whomever|nobody(?:'s)?|so many|of ours|to be had|has to be told|it is told that|beside other work)\b|\bwhom\b/i

  /** Lines on which a native speaker would use the word too. */
  const allowed: readonly RegExp[] = []

  it('uses none of the banned phrases', () => {
    const found = matches(files, banned)
    expect(found.filter((line) => !allowed.some((each) => each.test(line)))).toEqual([])
  })
})
