import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { configJsonSchema, type JsonSchema } from '../../src/config/json-schema.ts'
import { configTemplate } from '../../src/config/template.ts'
import { run } from '../helpers/cli.ts'
import { tempDir } from '../helpers/temp-dir.ts'

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function hasType(value: unknown, type: unknown): boolean {
  const types = [type].flat()
  return types.includes(typeOf(value)) || (types.includes('integer') && Number.isInteger(value))
}

/** The places where a value breaks a schema, as an editor would mark them. Knows the keywords that the schema uses. */
function faults(value: unknown, schema: JsonSchema, path = ''): string[] {
  const { type, pattern, minimum = -Infinity, maximum = Infinity, items, properties = {} } = schema
  const isWrong =
    (type !== undefined && !hasType(value, type)) ||
    (Array.isArray(schema['enum']) && !schema['enum'].includes(value)) ||
    (typeof value === 'string' && typeof pattern === 'string' && !new RegExp(pattern).test(value)) ||
    (typeof value === 'number' && (value < (minimum as number) || value > (maximum as number)))
  if (isWrong) return [path]
  if (Array.isArray(value)) return value.flatMap((item, index) => faults(item, items ?? {}, `${path}[${index}]`))
  if (typeOf(value) !== 'object') return []
  return Object.entries(value as object).flatMap(([key, child]) => {
    const known = properties[key] ?? (schema['additionalProperties'] === false ? null : {})
    return known === null ? [`${path}.${key}`] : faults(child, known, `${path}.${key}`)
  })
}

const channel = { url: 'http://shop.example', origin: 'http://127.0.0.1:8000' }

it('accepts the file that init writes, and each of its settings without the comment sign', () => {
  expect(faults(parse(configTemplate(channel)), configJsonSchema())).toEqual([])
  const settings = configTemplate(channel, { shop: 'shopware' }).replaceAll(
    /^( *)# ([a-zA-Z]+: \S.*)$/gm,
    (line, indent: string, setting: string) =>
      /^[a-z][A-Za-z]*: (?:[\d"'[{]|null|true|false|\w+$)/.test(setting) ? indent + setting : line,
  )
  const values = parse(settings) as { cache: object; server: object }
  expect(values.server).toMatchObject({ host: '127.0.0.1', stopGrace: '10s' })
  expect(Object.keys(values.cache).length).toBeGreaterThan(15)
  expect(faults(values, configJsonSchema())).toEqual([])
})

it('marks misspelt keys and values of a wrong form', () => {
  const value = {
    server: { port: 99_999, prot: 1 },
    cache: { memory: 'much', compression: 'yes', esi: 'on', variants: { cookies: [1] } },
    salesChannels: [{ url: 'shop.example' }],
  }
  expect(faults(value, configJsonSchema())).toEqual([
    '.server.port',
    '.server.prot',
    '.cache.memory',
    '.cache.compression',
    '.cache.esi',
    '.cache.variants.cookies[0]',
    '.salesChannels[0].url',
  ])
})

it('is named by the first line that init writes, explains keys, and is up to date', async () => {
  const projectDir = await tempDir()
  expect(await run(['init'], { cwd: projectDir })).toMatchObject({ code: 0 })
  const [first = ''] = (await readFile(join(projectDir, 'pagecache.yaml'), 'utf8')).split('\n')
  const url = /^# yaml-language-server: \$schema=(file:.*)$/.exec(first)?.[1]
  const written = JSON.parse(await readFile(fileURLToPath(url!), 'utf8')) as JsonSchema
  expect(written.properties?.['server']?.properties?.['port']?.description).toMatch(/port to listen on/)
  const bare = JSON.stringify(written, (key, value: unknown) =>
    key === 'description' && typeof value === 'string' ? undefined : value,
  )
  expect(JSON.parse(bare)).toEqual(JSON.parse(JSON.stringify(configJsonSchema())))
})
