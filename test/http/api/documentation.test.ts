import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openApi, type Api } from '../../helpers/api.ts'
import { startOrigin, type Origin } from '../../helpers/origin.ts'

const text = await readFile(new URL('../../../docs/http-api.md', import.meta.url), 'utf8')

/** Each example with the answer that stands below it. */
const examples = [...text.matchAll(/```sh\n(.*?)```\n(?:```json\n(.*?)```)?/gs)].map(([, script = '', answer]) => ({
  script,
  answer,
}))

let origin: Origin
let api: Api

beforeAll(async () => {
  origin = await startOrigin()
  api = await openApi({
    config: (url) => {
      const body = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>${url}/</loc></url></urlset>`
      origin.on('/sitemap.xml', { headers: { 'content-type': 'application/xml' }, body })
      return { salesChannels: [{ id: '0190c0de00007000800000000000000a', name: 'Shop', url, origin: origin.url }] }
    },
  })
})

afterAll(async () => {
  await api?.stop()
  await origin?.stop()
})

/** The keys of a value, all the way down; what holds them apart from those values that differ from run to run. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf)
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shapeOf(item)]))
}

it('every example of docs/http-api.md gives the documented answer', async () => {
  expect(examples.length).toBeGreaterThan(8)
  const marker = '\n--- the next one ---\n'
  const script = ['set -eu', ...examples.map((example) => `${example.script}\nprintf '%s' '${marker}'`)].join('\n')
  const { stdout } = await promisify(execFile)('bash', ['-c', script], {
    env: {
      PATH: process.env['PATH'] ?? '',
      SERVER: api.daemon.url,
      CLIENT_ID: api.write.clientId,
      CLIENT_SECRET: api.write.clientSecret,
    },
  })
  const outputs = stdout.split(marker)
  for (const [index, { script: command, answer }] of examples.entries()) {
    const output = outputs[index] ?? ''
    if (answer !== undefined) expect(shapeOf(JSON.parse(output)), command).toEqual(shapeOf(JSON.parse(answer)))
    else if (output !== '') expect(JSON.parse(output), command).toMatchObject({ success: true })
  }
})
