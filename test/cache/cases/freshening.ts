import { at, hit, miss, rule, type Step } from './case.ts'

export const tagged = (age = 10, tag = '"a"') => ({ 'Cache-Control': `max-age=${age}`, ETag: tag })

export const dated = { 'Cache-Control': 'max-age=10', 'Last-Modified': at(-100) }

const broken = 'The shop is unreachable or sent an invalid response.\n'

/** The origin answers 304 and the visitor gets the stored body. */
export function confirmed(
  fields: Readonly<Record<string, string | readonly string[]>>,
  more: Partial<Step> = {},
): Step {
  return { wait: 20, asked: 1, body: 0, ...more, reply: { status: 304, fields, ...more.reply } }
}

export const freshening = [
  rule('9111 §3.2', 'required', 'a 304 replaces the fields that it has', {
    'update-fields': [
      miss({ ...tagged(), 'X-A': '1', 'X-B': '1' }),
      confirmed({ ...tagged(), 'X-A': '2', 'X-C': '3' }, { fields: { 'X-A': '2', 'X-B': '1', 'X-C': '3' } }),
      hit({ fields: { 'X-A': '2', 'X-B': '1', 'X-C': '3', ETag: '"a"' } }),
    ],
    'update-all-lines': [
      miss({ ...tagged(), Link: ['</a>', '</b>'] }),
      confirmed({ ...tagged(), Link: '</c>' }),
      hit({ fields: { Link: '</c>' } }),
    ],
    'update-other-case': [
      miss({ ...tagged(), 'X-A': '1' }),
      confirmed({ ...tagged(), 'x-a': '2' }),
      hit({ fields: { 'X-A': '2' } }),
    ],
    'update-date': [
      miss(tagged()),
      confirmed({ ...tagged(60), Date: at(20) }),
      hit({ wait: 5, fields: { Date: at(20), Age: '5' } }),
    ],
    'update-cache-control': [
      miss(tagged()),
      confirmed({ ETag: '"a"', 'Cache-Control': 'max-age=60, foo' }),
      hit({ fields: { 'Cache-Control': 'max-age=60, foo' } }),
    ],
    'update-content-type': [
      miss({ ...tagged(), 'Content-Type': 'text/plain' }),
      confirmed({ ...tagged(), 'Content-Type': 'text/html' }),
      hit({ fields: { 'Content-Type': 'text/html' } }),
    ],
  }),
  rule('9111 §3.2', 'required', 'a 304 does not replace fields of the body or the connection', {
    'update-content-length': [
      miss(tagged()),
      confirmed({ ...tagged(), 'Content-Length': '1' }),
      hit({ fields: { 'Content-Length': /^\d\d$/ } }),
    ],
    'update-content-encoding': [
      miss(tagged()),
      confirmed({ ...tagged(), 'Content-Encoding': 'gzip' }),
      hit({ fields: { 'Content-Encoding': null } }),
    ],
    'update-content-range': [
      miss(tagged()),
      confirmed({ ...tagged(), 'Content-Range': 'bytes 0-1/2' }),
      hit({ fields: { 'Content-Range': null } }),
    ],
    'update-connection': [
      miss(tagged()),
      confirmed({ ...tagged(), Connection: 'keep-alive, X-A', 'X-A': '1' }),
      hit({ fields: { 'X-A': null } }),
    ],
  }),
  rule('9111 §7.3', 'ours', 'Set-Cookie of a 304 goes only to the visitor who caused it', {
    'update-set-cookie': [
      miss(tagged()),
      confirmed({ ...tagged(), 'Set-Cookie': 'a=1' }, { fields: { 'Set-Cookie': 'a=1' } }),
      hit({ fields: { 'Set-Cookie': null } }),
    ],
    'update-set-cookie-range': [
      miss(tagged(), { reply: { body: '0123456789' } }),
      confirmed(
        { ...tagged(), 'Set-Cookie': 'a=1' },
        { send: { Range: 'bytes=2-3' }, status: 206, body: { text: '23' }, fields: { 'Set-Cookie': 'a=1' } },
      ),
      hit({ fields: { 'Set-Cookie': null } }),
    ],
  }),
  rule('9111 §5.2.2.4', 'required', 'fields named by no-cache are not stored when a page is validated', {
    'update-no-cache-fields': [
      miss({ ETag: '"a"', 'Cache-Control': 'max-age=10, no-cache="X-A"', 'X-A': '1', 'X-B': '1' }),
      confirmed(
        { ETag: '"a"', 'Cache-Control': 'max-age=60, no-cache="X-A, X-B"', 'X-A': '2' },
        { fields: { 'X-A': '2', 'X-B': '1' } },
      ),
      hit({ fields: { 'X-A': null, 'X-B': null } }),
    ],
  }),
  rule('9111 §4.3.4', 'required', 'a 304 with another validator does not match the stored page', {
    'freshen-other-weak-etag': [
      miss({ ...dated, ETag: 'W/"a"', 'Cache-Control': 'max-age=10, must-revalidate' }),
      {
        wait: 20,
        asked: 2,
        status: 502,
        body: { text: broken },
        reply: { status: 304, fields: { ...tagged(60, 'W/"b"') } },
      },
    ],
    'freshen-other-date': [
      miss({ ...dated, 'Cache-Control': 'max-age=10, must-revalidate' }),
      {
        wait: 20,
        asked: 2,
        status: 502,
        body: { text: broken },
        reply: { status: 304, fields: { 'Last-Modified': at(-50) } },
      },
    ],
    'freshen-other-etag': [
      miss({ ...tagged(), 'Cache-Control': 'max-age=10, must-revalidate' }),
      {
        wait: 20,
        asked: 2,
        status: 502,
        body: { text: broken },
        reply: { status: 304, fields: tagged(60, '"b"') },
      },
    ],
  }),
  rule('9110 §15.4.5', 'required', 'an unsolicited 304 is an invalid response', {
    'unasked-304': [
      {
        asked: 1,
        status: 502,
        body: { text: broken },
        reply: { status: 304, fields: tagged(60) },
      },
      miss(tagged()),
    ],
  }),
  rule('9111 §4.3.4', 'ours', 'a 304 with private or no-store does not freshen the page', {
    'freshen-private': [miss(tagged()), confirmed({ ETag: '"a"', 'Cache-Control': 'private, max-age=60' }), miss({})],
    'freshen-no-store': [miss(tagged()), confirmed({ ETag: '"a"', 'Cache-Control': 'no-store' }), miss({})],
    'freshen-vary-star': [miss(tagged()), confirmed({ ...tagged(60), Vary: '*' }), miss({})],
  }),
  rule('9111 §4.3.5', 'optimal', 'a HEAD of a stale page validates and freshens it', {
    'head-freshens': [
      miss(tagged()),
      { wait: 20, method: 'HEAD', asked: 1, fields: { 'X-A': '2' }, reply: { fields: { ...tagged(60), 'X-A': '2' } } },
      hit({ fields: { 'X-A': '2' } }),
    ],
    'head-freshens-last-modified': [
      miss(dated),
      { wait: 20, method: 'HEAD', asked: 1, reply: { fields: { ...dated, 'Cache-Control': 'max-age=60' } } },
      hit({ wait: 30 }),
    ],
    'head-same-length': [
      miss({ ...tagged() }, { reply: { body: '0123456789' } }),
      { wait: 20, method: 'HEAD', asked: 1, reply: { fields: { ...tagged(60), 'Content-Length': '10' } } },
      hit(),
    ],
  }),
  rule('9111 §4.3.5', 'required', 'a HEAD whose validators or length differ leaves the stored page stale', {
    'head-other-etag': [
      miss(tagged()),
      { wait: 20, method: 'HEAD', asked: 1, fields: { ETag: '"b"' }, reply: { fields: tagged(60, '"b"') } },
      miss(tagged()),
    ],
    'head-other-last-modified': [
      miss(dated),
      {
        wait: 20,
        method: 'HEAD',
        asked: 1,
        reply: { fields: { 'Cache-Control': 'max-age=60', 'Last-Modified': at(-50) } },
      },
      miss({}),
    ],
    'head-other-length': [
      miss(tagged()),
      { wait: 20, method: 'HEAD', asked: 1, reply: { fields: { ...tagged(60), 'Content-Length': '1' } } },
      miss(tagged()),
    ],
    'head-410': [
      miss(tagged()),
      { wait: 20, method: 'HEAD', asked: 1, status: 410, reply: { status: 410, fields: tagged(60) } },
      miss(tagged()),
    ],
    'head-500': [
      miss(tagged()),
      { wait: 20, method: 'HEAD', asked: 1, status: 500, reply: { status: 500 } },
      miss(tagged()),
    ],
  }),
]
