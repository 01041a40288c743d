import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { configTemplate } from '../../src/config/template.ts'

const read = (file: string) => readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), 'utf8')
const page = read('docs/shopware.md')

/** The cells of the table below a heading, by row. */
function tableBelow(heading: string): string[][] {
  const section = page.slice(page.indexOf(`## ${heading}\n`)).split(/^## /m)[1]!
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(1).map((row) => row.slice(2, -2).split(/ *(?<!\\)\| */))
}

it('each behaviour in docs/shopware.md is the title of a test', () => {
  const files = ['cache/shopware-rules', 'cache/shopware-stale', 'e2e/purge-methods', 'e2e/symfony']
  const rules = files.map((file) => read(`test/${file}.test.ts`)).join('')
  const titles = [...rules.matchAll(/(['"])((?:\\.|(?!\1).)+)\1,\s*async/g)].map(([, , title]) =>
    title!.replace('%s', 'must-revalidate'),
  )
  const described = tableBelow('Behaviour').map(([title]) => title!)
  expect(described.length).toBeGreaterThan(30)
  expect(described.filter((title) => !titles.includes(title))).toEqual([])
})

it('the defaults in docs/shopware.md are those of the file that init writes', () => {
  for (const [key, plain, shopware] of tableBelow('Defaults').map((row) =>
    row.map((cell) => cell.replaceAll(/[`\\]/g, '')),
  )) {
    const name = key!.split('.').at(-1)!
    expect(configTemplate(null)).toContain(`${name}: ${plain}`)
    expect(configTemplate(null, { shop: 'shopware' })).toContain(`${name}: ${shopware}`)
  }
})
