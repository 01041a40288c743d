import { describe, expect, it } from 'vitest'
import { createErrorPage, refuserFor } from '../../../src/http/front/error-page.ts'

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

/** The type of the answer to a request with these fields. */
function typeFor(fields: Record<string, string>, status = 502): string {
  const refuse = refuserFor(
    createErrorPage(null),
    (name) => fields[name] ?? null,
    () => 'id',
  )
  return new Headers(refuse(status, 'The shop is unreachable.').headers as [string, string][]).get('content-type')!
}

describe('an error page', () => {
  it.each([
    [{ accept: browser }],
    [{ accept: 'TEXT/HTML' }],
    [{ accept: 'text/html;level=1;q=0.5, application/json;q=0.5' }],
    [{ accept: browser, 'sec-fetch-dest': 'document' }],
  ])('is for people: %j', (fields) => {
    for (const status of [502, 503, 504]) expect(typeFor(fields, status)).toBe('text/html; charset=utf-8')
    for (const status of [500, 508, 421]) expect(typeFor(fields, status)).toBe('text/plain; charset=utf-8')
  })

  it.each([
    [{}],
    [{ accept: '*/*' }],
    [{ accept: 'text/*' }],
    [{ accept: 'application/json' }],
    [{ accept: 'application/json, text/html;q=0.9' }],
    [{ accept: 'text/html;q=0' }],
    [{ accept: 'text/html;q=nonsense' }],
    [{ accept: 'image/avif,image/webp,*/*;q=0.8' }],
    [{ accept: browser, 'x-requested-with': 'XMLHttpRequest' }],
    [{ accept: browser, 'sec-fetch-dest': 'empty' }],
    [{ accept: browser, 'sw-access-key': 'SWSC' }],
  ])('is not for programs: %j', (fields) => expect(typeFor(fields)).toBe('text/plain; charset=utf-8'))

  it('contains status and request ID, escaped, wherever they are named', () => {
    const page = createErrorPage('<i title="{{requestId}}">{{status}}</i>{{requestId}} {{other}} {{ status }} $& $1')
    expect(page(503, '<&">$&')).toBe(
      '<i title="&lt;&amp;&quot;&gt;$&amp;">503</i>&lt;&amp;&quot;&gt;$&amp; {{other}} {{ status }} $& $1',
    )
  })

  it('has a built-in form', () => {
    const page = createErrorPage(null)(504, 'a-b-c')
    expect(page).toContain('Error 504 · Reference a-b-c')
    expect(page).not.toContain('{{')
  })
})
