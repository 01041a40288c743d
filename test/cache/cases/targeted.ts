import { at, freshFor, miss, named, notStored, rule, staleAfter, stored, type Case } from './case.ts'

const cdn = (value: string | string[], control = 'no-store') => ({
  'Cache-Control': control,
  'CDN-Cache-Control': value,
})

const holding = [
  rule('9213 §2.2', 'required', 'the targeted field overrides Cache-Control and Expires', {
    'cdn-over-no-store': stored(cdn('max-age=3600')),
    'cdn-over-private': stored(cdn('max-age=3600', 'private')),
    'cdn-over-max-age': freshFor(60, cdn('max-age=60', 'max-age=10')),
    'cdn-over-s-maxage': freshFor(10, cdn('max-age=10', 's-maxage=60')),
    'cdn-over-expires': freshFor(60, { 'CDN-Cache-Control': 'max-age=60', Expires: at(-10) }),
    'cdn-without-lifetime-over-expires': notStored({ 'CDN-Cache-Control': 'foo', Expires: at(3600) }),
    'cdn-no-store': notStored(cdn('no-store', 'max-age=3600')),
    'cdn-private': notStored(cdn('private, max-age=60', 'max-age=3600')),
    'cdn-no-cache': [miss(cdn('no-cache, max-age=60', 'max-age=3600')), miss({})],
    'cdn-max-age-zero': staleAfter(0, cdn('max-age=0', 'max-age=3600')),
    'cdn-s-maxage': freshFor(60, cdn('s-maxage=60, max-age=10')),
    'cdn-must-revalidate': [
      miss(cdn('max-age=10, must-revalidate', 'max-age=3600')),
      miss({}, { wait: 20, reply: { status: 500 } }),
    ],
    'cdn-stale-if-error': [
      miss(cdn('max-age=10, stale-if-error=60')),
      { wait: 20, asked: 1, body: 0, reply: { status: 503 } },
    ],
    'cdn-unknown-directive': freshFor(60, cdn('foo=bar, max-age=60, baz=1.5')),
    'cdn-two-lines': freshFor(60, cdn(['foo', 'max-age=60'])),
    'cdn-no-store-false': stored(cdn('no-store=?0, max-age=3600')),
    'cdn-parameters': freshFor(60, cdn('max-age=60;foo=bar;baz')),
    'cdn-last-of-a-name': freshFor(60, cdn('max-age=10, max-age=60')),
  }),
  rule('9213 §2.1', 'required', 'a malformed or empty field is ignored', {
    ...named(
      {
        'upper-case': 'Max-Age=60',
        'open-quote': 'foo="a, max-age=60',
        'trailing-comma': 'max-age=60,',
        'two-commas': 'max-age=60,, foo',
        'no-comma': 'max-age=60 foo',
        'space-before-equals': 'max-age =60',
        'space-after-equals': 'max-age= 60',
        'single-quotes': "max-age='60'",
        'two-dots': 'max-age=6.0.0',
        'letters-after': 'max-age=60a',
        empty: '',
        blank: '  ',
        'open-list': 'foo=(a b, max-age=60',
        'bad-parameter': 'max-age=60;Foo',
        semicolons: 'max-age=60; ;',
      },
      (value) => notStored(cdn(value)),
      'cdn-invalid-',
    ),
    'cdn-invalid-max-age-holds': freshFor(10, cdn('MAX-AGE=60', 'max-age=10')),
    'cdn-invalid-expires-holds': freshFor(10, { 'CDN-Cache-Control': 'max-age=60,', Expires: at(10) }),
  }),
  rule('9213 §2.1', 'ours', 'a lifetime that is not an Integer is invalid', {
    ...named(
      {
        string: 'max-age="60"',
        decimal: 'max-age=60.5',
        token: 'max-age=sixty',
        negative: 'max-age=-60',
        list: 'max-age=(60)',
        bare: 'max-age',
      },
      (value) => staleAfter(0, cdn(value, 'max-age=3600')),
      'cdn-lifetime-',
    ),
  }),
  rule('9213 §2.2', 'ours', 'the targeted field is forwarded to downstream caches', {
    'cdn-forwarded': [
      miss(cdn('max-age=60'), { fields: { 'CDN-Cache-Control': 'max-age=60', 'Cache-Control': 'no-store' } }),
    ],
  }),
]

export const targeted: Case[] = holding.flat()
