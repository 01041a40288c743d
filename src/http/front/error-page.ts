import { plainAnswer, type Refuse } from '../../cache/refusal.ts'
import { escapeHtml } from '../../lib/safe-text.ts'
import { textAnswer } from '../answer.ts'

/** The page that visitors see when the shop gives no answer. */
export type ErrorPage = (status: number, requestId: string) => string

/** A request field by its lower-case name, with its lines combined. */
type Field = (name: string) => string | null

/** The statuses that have a page: all that the shop's failures cause. */
const statuses = new Set([502, 503, 504])

/** @param text HTML with `{{status}}` and `{{requestId}}`; null: the built-in page */
export function createErrorPage(text: string | null): ErrorPage {
  const parts = (text ?? builtIn).split(/\{\{(status|requestId)\}\}/)
  return (status, requestId) => {
    const values: Record<string, string> = { status: escapeHtml(String(status)), requestId: escapeHtml(requestId) }
    return parts.map((part, index) => (index % 2 === 0 ? part : values[part])).join('')
  }
}

/** How to refuse a request: with the error page for people, with plain text for programs. */
export function refuserFor(page: ErrorPage, field: Field, requestId: () => string): Refuse {
  return (status, text) => {
    if (!statuses.has(status) || !isPerson(field)) return plainAnswer(status, text)
    const answer = textAnswer(status, 'text/html; charset=utf-8', page(status, requestId()))
    return { ...answer, body: Buffer.from(answer.body) }
  }
}

/** Whether a request comes from a browser that shows a page. Programs accept any type, and scripts say that they are none. */
function isPerson(field: Field): boolean {
  if (field('x-requested-with') !== null || field('sw-access-key') !== null) return false
  if (field('sec-fetch-dest') === 'empty') return false
  const accept = field('accept') ?? ''
  const html = qualityOf(accept, 'text/html')
  return html > 0 && html >= qualityOf(accept, 'application/json')
}

/** The quality of a media type that `Accept` names; 0 where only a range includes it. */
function qualityOf(accept: string, type: string): number {
  for (const element of accept.toLowerCase().split(',')) {
    const [name, ...parameters] = element.split(';').map((part) => part.trim())
    if (name !== type) continue
    const quality = parameters.find((parameter) => parameter.startsWith('q='))
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0
  }
  return 0
}

const builtIn = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Temporarily unavailable</title>
<style>
  :root { color-scheme: light dark; --text: #1f2328; --quiet: #59636e; --ground: #f6f7f9 }
  @media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --quiet: #9aa4af; --ground: #16181c } }
  body {
    min-height: 100vh; margin: 0; padding: 1.5rem; box-sizing: border-box; display: grid; place-items: center;
    font: 1rem/1.6 system-ui, sans-serif; color: var(--text); background: var(--ground);
  }
  main { max-width: 30rem }
  h1 { margin: 0 0 .75rem; font-size: 1.75rem; line-height: 1.25 }
  p { margin: 0 0 1.5rem }
  a { display: inline-block; padding: .65rem 1.25rem; border-radius: .5rem; text-decoration: none; color: var(--ground); background: var(--text) }
  a:focus-visible { outline: 3px solid #3b82f6; outline-offset: 2px }
  small { display: block; margin-top: 2.5rem; color: var(--quiet); overflow-wrap: anywhere }
</style>
<main>
  <h1>This page is temporarily unavailable</h1>
  <p>The shop is not answering right now. Please try again in a moment.</p>
  <a href="">Try again</a>
  <small>Error {{status}} · Reference {{requestId}}</small>
</main>
</html>
`
