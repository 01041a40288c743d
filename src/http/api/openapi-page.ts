import { createHash } from 'node:crypto'
import type { H3 } from 'h3'
import { escapeHtml } from '../../lib/safe-text.ts'
import { textAnswer, type Answer } from '../answer.ts'
import { addRoutes } from './route.ts'

/** Adds the OpenAPI document, and the page that shows it. */
export function addOpenapi(app: H3): void {
  let text: Promise<string> | null = null
  const documentText = async () => JSON.stringify(await document())
  addRoutes(app, '/api/_info/openapi.json', {
    GET: async () => textAnswer(200, 'application/json', await (text ??= documentText())),
  })
  addRoutes(app, '/api/_info/docs', { GET: () => openapiPage() })
}

interface Described {
  summary?: string
  description?: string
  parameters?: { name: string; in: string; required?: boolean; schema: unknown; example?: unknown }[]
  requestBody?: {
    content: Record<
      string,
      { example?: unknown; schema?: { properties?: Record<string, unknown>; required?: string[] } }
    >
  }
  responses: Record<string, { description: string; content?: Record<string, { example?: unknown }> }>
}

async function document(): Promise<{
  info: { title: string; version: string; description: string }
  paths: Record<string, Record<string, Described>>
}> {
  const [{ openapiDocument }, { operations }] = await Promise.all([
    import('../../operations/openapi/document.ts'),
    import('../../operations/index.ts'),
  ])
  return openapiDocument(operations) as never
}

const style = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}
h2{font-size:1.1rem;margin-top:2.5rem;border-top:1px solid #8886;padding-top:1rem;overflow-wrap:anywhere}code,pre{font:14px/1.45 ui-monospace,monospace}
pre{background:#8881;padding:.75rem;overflow:auto}table{border-collapse:collapse}td,th{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top}
td:last-child{overflow-wrap:anywhere}`

/** Content-Security-Policy: the page may load and run nothing; its one style is allowed by its hash. */
const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** The document as static HTML, without a script or anything from elsewhere. */
async function openapiPage(): Promise<Answer> {
  const { info, paths } = await document()
  const sections = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => section(method, path, operation)),
  )
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(info.title)} ${escapeHtml(info.version)}: HTTP API</title><style>${style}</style></head>
<body><h1>${escapeHtml(info.title)} ${escapeHtml(info.version)}: HTTP API</h1><p>${escapeHtml(info.description)}</p><p>For programs: <a href="openapi.json">openapi.json</a></p>
${sections.join('\n')}
</body></html>
`
  return textAnswer(200, 'text/html; charset=utf-8', html, [
    ['Content-Security-Policy', policy],
    ['X-Content-Type-Options', 'nosniff'],
    ['Referrer-Policy', 'no-referrer'],
  ])
}

function section(
  method: string,
  path: string,
  { summary, parameters = [], requestBody, responses }: Described,
): string {
  const { example: body, schema } = requestBody?.content['application/json'] ?? {}
  const fields = Object.entries(schema?.properties ?? {}).map(([name, type]) =>
    field(name, 'body', schema?.required?.includes(name), type),
  )
  const rows = [
    ...parameters.map(({ name, in: place, required, schema: type }) => field(name, place, required, type)),
    ...fields,
  ]
  const errors = Object.entries(responses)
    .filter(([status]) => status !== '200')
    .map(([status, { description }]) => `<tr><td>${escapeHtml(status)}</td><td>${escapeHtml(description)}</td></tr>`)
  return [
    `<h2><code>${escapeHtml(method.toUpperCase())} ${escapeHtml(path)}</code></h2><p>${escapeHtml(summary ?? '')}</p>`,
    rows.length === 0 ? '' : `<h3>Fields</h3><table>${rows.join('')}</table>`,
    example('Body', body),
    example('Answer', responses['200']?.content?.['application/json']?.example),
    errors.length === 0 ? '' : `<details><summary>Errors</summary><table>${errors.join('')}</table></details>`,
  ].join('')
}

function field(name: string, place: string, required: boolean | undefined, schema: unknown): string {
  return `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(place)}${required ? ', required' : ''}</td><td><code>${escapeHtml(JSON.stringify(schema))}</code></td></tr>`
}

function example(title: string, value: unknown): string {
  return value === undefined ? '' : `<h3>${title}</h3><pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`
}
