import { describe, expect, it } from 'vitest'
import { parseTemplate, type Include } from '../../../src/cache/esi/parse.ts'
import { random } from '../../helpers/random.ts'

/** A template with each include as `{src|alt|!}`. */
async function parsed(template: string, most = Infinity): Promise<string> {
  const { pieces } = await parseTemplate(Buffer.from(template, 'latin1'), most)
  return pieces.map((piece) => (Buffer.isBuffer(piece) ? piece.toString('latin1') : shown(piece))).join('')
}

function shown({ src, alt, optional }: Include): string {
  return `{${[src, ...(alt === null ? [] : [alt]), ...(optional ? ['!'] : [])].join('|')}}`
}

describe('ESI markup', () => {
  it.each([
    ['nothing', '<p>a</p>', '<p>a</p>'],
    ['an include', 'a<esi:include src="/b"/>c', 'a{/b}c'],
    ['an include with all attributes', `<esi:include src='/b' alt="/c" onerror="continue" />`, '{/b|/c|!}'],
    ['another onerror', '<esi:include src="/b" onerror="stop"/>', '{/b}'],
    ['an include with an end tag', '<esi:include src="/b"></esi:include>c', '{/b}c'],
    ['entities', '<esi:include src="/b?a=1&amp;c=2&d=&#39;"/>', "{/b?a=1&c=2&d='}"],
    ['an escaped entity', '<esi:include src="/b?&amp;amp;"/>', '{/b?&amp;}'],
    ['line breaks in a tag', '<esi:include\n  src="/b"\r\n\talt = "/c"\n/>', '{/b|/c}'],
    ['an attribute twice', '<esi:include src="/b" src="/c"/>', '{/b}'],
    ['an include without src', 'a<esi:include alt="/b"/>c', 'ac'],
    ['an unquoted src', 'a<esi:include src=/b/>c', 'ac'],
    ['an open quote', 'a<esi:include src="/b <p>c</p>', 'a<p>c</p>'],
    ['an open tag at the end', 'a<esi:include src="/b"', 'a'],
    ['a removed part', 'a<esi:remove><b><esi:include src="/b"/></esi:remove>c', 'ac'],
    ['an open remove', 'a<esi:remove>b', 'ab'],
    ['a stray end of remove', 'a</esi:remove>b', 'ab'],
    ['a comment tag', 'a<esi:comment text="b"/>c', 'ac'],
    ['a comment around markup', 'a<!--esi <b><esi:include src="/c"/></b> -->d', 'a <b>{/c}</b> d'],
    ['an open comment around markup', 'a<!--esi <esi:include src="/b"/>c', 'a<!--esi {/b}c'],
    ['other comments', 'a<!-- b --><!--esix -->c-->', 'a<!-- b --><!--esix -->c-->'],
    ['a comment whose end was removed', '<!--esi a<esi:remove>--></esi:remove>b-->c', ' ab-->c'],
    ['unknown tags', 'a<esi:try><esi:attempt>b</esi:attempt></esi:try>c', 'abc'],
    ['other cases of letters', '<ESI:include src="/b"/>', '<ESI:include src="/b"/>'],
    ['escaped markup', '&lt;esi:include src="/b"/&gt;', '&lt;esi:include src="/b"/&gt;'],
    ['bytes that are no UTF-8', '\xff\xe4<esi:include src="/\xe4"/>\x00', '\xff\xe4{/\xe4}\x00'],
  ])('%s', async (_, template, expected) => {
    expect(await parsed(template)).toBe(expected)
  })

  it('is parsed like a naive parser does', async () => {
    const next = random(20261122)
    const below = (limit: number) => Math.floor(next() * limit)
    const parts = [
      ...[
        '<esi:include',
        '<esi:include src="/a"/>',
        ' src="/b"',
        " alt='/c'",
        ' onerror="continue"',
        '/>',
        '>',
        '<',
        '"',
      ],
      ...[
        '<esi:remove>',
        '</esi:remove>',
        '<!--esi ',
        '<!--esi',
        '-->',
        '<!--',
        'text',
        ' ',
        '<p>',
        '</esi:include>',
        '<esi:',
      ],
    ]
    for (let round = 0; round < 20_000; round++) {
      const template = Array.from({ length: 1 + below(12) }, () => parts[below(parts.length)]!).join('')
      expect({ template, parsed: await parsed(template) }).toEqual({ template, parsed: naive(template) })
    }
  })

  it.each([
    '<esi:include',
    '<esi:include src="',
    '<!--esi ',
    '<esi:remove>',
    '<esi:include src="/a"/>',
    '<esi:a b',
    '<',
    '-->',
  ])('searches no byte of a page of %s again and again', async (tag) => {
    // A quadratic parser would need minutes.
    const template = tag.repeat(200_000)
    expect((await parsed(template, 32)).length).toBeLessThanOrEqual(template.length)
  })
})

/** A parser that restarts at each character and does not care how long that takes. */
function naive(template: string): string {
  let out = ''
  let commentEnd = -1
  for (let at = 0; at < template.length;) {
    const rest = template.slice(at)
    const tag = /^<(\/?)esi:([a-z]*)/.exec(rest)
    if (at === commentEnd) at += 3
    else if (/^<!--esi\s/.test(rest) && rest.includes('-->')) {
      commentEnd = at + rest.indexOf('-->')
      at += 7
    } else if (tag !== null && tag[0] === '<esi:remove') {
      const end = tagOf(rest).length
      const close = rest.indexOf('</esi:remove>', end)
      at += close === -1 ? end : close + 13
    } else if (tag === null) {
      out += rest[0]
      at += 1
    } else {
      const whole = tagOf(rest)
      const value = (name: string) => {
        const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(whole)
        return found === null ? null : (found[1] ?? found[2]!)
      }
      const src = value('src')
      if (tag[0] === '<esi:include' && isWellFormed(whole) && src !== null)
        out += shown({ src, alt: value('alt'), optional: value('onerror') === 'continue' })
      at += whole.length
    }
  }
  return out
}

const attributes = `(?:\\s+[a-z]+\\s*=\\s*(?:"[^"<>]*"|'[^'<>]*'))*`

function isWellFormed(tag: string): boolean {
  return new RegExp(`^</?esi:[a-z]*${attributes}\\s*/?>$`).test(tag)
}

function tagOf(rest: string): string {
  const start = new RegExp(`^</?esi:[a-z]*${attributes}`).exec(rest)![0]
  const wellFormed = /^\s*\/?>/.exec(rest.slice(start.length))
  return start + (wellFormed?.[0] ?? /^[^<>]*>?/.exec(rest.slice(start.length))![0])
}
