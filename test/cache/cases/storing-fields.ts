import { at, hit, miss, notStored, rule } from './case.ts'

export const fresh = { 'Cache-Control': 'max-age=3600' }

export const headers = [
  rule('9111 §3.1', 'required', 'hop-by-hop fields are neither stored nor forwarded', {
    'connection-fields': [
      miss(
        { ...fresh, Connection: 'keep-alive, x-a', 'Keep-Alive': 'timeout=5', 'X-A': '1', 'X-B': '2' },
        { fields: { 'X-A': null, 'X-B': '2', 'Keep-Alive': null } },
      ),
      hit({ fields: { 'X-A': null, 'X-B': '2', 'Keep-Alive': null, Connection: null } }),
    ],
    'connection-fields-reflect-nothing': [
      miss({ ...fresh, Connection: 'keep-alive' }, { send: { 'Accept-Note': 'about Keep-Alive' } }),
      hit(),
    ],
    'proxy-fields': [
      miss({ ...fresh, 'Proxy-Authenticate': 'Basic', 'Proxy-Authentication-Info': 'a', 'Proxy-Connection': 'close' }),
      hit({ fields: { 'Proxy-Authenticate': null, 'Proxy-Authentication-Info': null, 'Proxy-Connection': null } }),
    ],
  }),
  rule('9111 §3.1', 'required', 'all other fields are stored, including unknown ones', {
    'unknown-fields': [
      miss({ ...fresh, 'X-Odd': 'a', 'X-Twice': ['1', '2'] }),
      hit({ fields: { 'X-Odd': 'a', 'X-Twice': '1, 2' } }),
    ],
    'content-fields': [
      miss({ ...fresh, 'Content-Type': 'text/plain', 'Content-Language': 'de', ETag: '"a"' }),
      hit({ fields: { 'Content-Type': 'text/plain', 'Content-Language': 'de', ETag: '"a"' } }),
    ],
    'cache-control-kept': [
      miss({ 'Cache-Control': 'max-age=3600, foo="b c"' }),
      hit({ fields: { 'Cache-Control': 'max-age=3600, foo="b c"' } }),
    ],
    'date-kept': [miss({ ...fresh, Date: at(-5) }), hit({ wait: 10, fields: { Date: at(-5) } })],
    'expires-kept': [miss({ Expires: at(3600) }), hit({ fields: { Expires: at(3600) } })],
  }),
  rule('9111 §5.2.2.4', 'required', 'fields named by no-cache are not reused without validation', {
    'no-cache-fields': [
      miss(
        { 'Cache-Control': 'max-age=3600, no-cache="X-A, X-C"', 'X-A': '1', 'X-B': '2', 'X-C': '3' },
        { fields: { 'X-A': '1' } },
      ),
      hit({ fields: { 'X-A': null, 'X-B': '2', 'X-C': null } }),
    ],
  }),
  rule('9110 §6.6.1', 'required', 'a response without Date gets one', {
    'date-added': [miss(fresh, { reply: { dateless: true } }), hit({ wait: 5, fields: { Date: at(0) } })],
  }),
  rule('9110 §5.2', 'required', "the order of a field's lines is kept", {
    'line-order': [
      miss({ ...fresh, Link: ['</b>; rel=next', '</a>; rel=prev'] }),
      hit({ fields: { Link: '</b>; rel=next, </a>; rel=prev' } }),
    ],
  }),
]

export const incomplete = [
  rule('9111 §3.3', 'required', 'an incomplete response is not stored', {
    'incomplete-content-length': [
      {
        asked: 1,
        status: 502,
        body: { text: 'The shop is unreachable or sent an invalid response.\n' },
        reply: { fields: fresh, body: 'half of it', breaks: 'within' },
      },
      miss(fresh),
    ],
    'incomplete-chunked': [
      {
        asked: 1,
        status: 502,
        body: { text: 'The shop is unreachable or sent an invalid response.\n' },
        reply: {
          fields: { ...fresh, 'Transfer-Encoding': 'chunked' },
          body: '5\r\nhello\r\n5\r\nhe',
          breaks: 'within',
        },
      },
      miss(fresh),
    ],
  }),
  rule('9111 §3', 'required', 'a failed request stores nothing', {
    'broken-before': [
      {
        asked: 2,
        status: 502,
        body: { text: 'The shop is unreachable or sent an invalid response.\n' },
        reply: { breaks: 'before' },
      },
      miss(fresh),
    ],
  }),
]

export const silent = [
  rule('9111 §3', 'ours', 'a response without freshness and validator is not stored', {
    'no-information': notStored({}),
    'no-information-public': [miss({ 'Cache-Control': 'public' }), miss({ 'Cache-Control': 'public' })],
    'event-stream': notStored({ ...fresh, 'Content-Type': 'text/event-stream' }),
  }),
  rule('9111 §4', 'required', 'other targets and hosts have other responses', {
    'other-query': [
      miss(fresh, { target: '?a=1' }),
      miss(fresh, { target: '?a=2' }),
      hit({ target: '?a=1' }),
      hit({ target: '?a=2', body: 1 }),
    ],
    'case-of-path': [miss(fresh, { target: '/a' }), miss(fresh, { target: '/A' })],
    'slash-at-the-end': [miss(fresh, { target: '/a' }), miss(fresh, { target: '/a/' })],
  }),
]
