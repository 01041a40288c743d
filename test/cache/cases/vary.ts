import { hit, miss, named, notStored, rule, stored, type Case, type Step } from './case.ts'

const varying = (vary: string | string[], more: Record<string, string> = {}) => ({
  'Cache-Control': 'max-age=3600',
  Vary: vary,
  ...more,
})

/** A visit with the first fields, then one with the second fields. */
function pair(
  vary: string | string[],
  first: Record<string, string>,
  second: Record<string, string>,
  matches: boolean,
  more: Record<string, string> = {},
): Step[] {
  return [
    miss(varying(vary, more), { send: first }),
    matches ? hit({ send: second }) : miss(varying(vary, more), { send: second }),
  ]
}

const selecting = [
  rule('9111 §4.1', 'required', 'a response is not reused when the fields named by Vary differ', {
    'vary-other': pair('Foo', { Foo: '1' }, { Foo: '2' }, false),
    'vary-then-absent': pair('Foo', { Foo: '1' }, {}, false),
    'vary-absent-then': pair('Foo', {}, { Foo: '1' }, false),
    'vary-empty-is-not-absent': pair('Foo', {}, { Foo: '' }, false),
    'vary-two-second-differs': pair('Foo, Bar', { Foo: '1', Bar: 'a' }, { Foo: '1', Bar: 'b' }, false),
    'vary-two-first-differs': pair('Foo, Bar', { Foo: '1', Bar: 'a' }, { Foo: '2', Bar: 'a' }, false),
    'vary-two-one-missing': pair('Foo, Bar', { Foo: '1', Bar: 'a' }, { Foo: '1' }, false),
    'vary-two-lines': pair(['Foo', 'Bar'], { Foo: '1', Bar: 'a' }, { Foo: '1', Bar: 'b' }, false),
    'vary-swapped': pair('Foo, Bar', { Foo: '1', Bar: '2' }, { Foo: '2', Bar: '1' }, false),
    'vary-case-of-value': pair('Foo', { Foo: 'a' }, { Foo: 'A' }, false),
    'vary-prefix-of-value': pair('Foo', { Foo: 'a' }, { Foo: 'a, b' }, false),
    'vary-order-of-values': pair('Foo', { Foo: 'a, b' }, { Foo: 'b, a' }, false),
    'vary-name-case': pair('fOO', { Foo: '1' }, { Foo: '2' }, false),
    'vary-user-agent': pair('User-Agent', { 'User-Agent': 'phone' }, { 'User-Agent': 'desk' }, false),
  }),
  rule('9111 §4.1', 'optimal', 'a response is reused when the fields named by Vary match', {
    'vary-same': pair('Foo', { Foo: '1' }, { Foo: '1' }, true),
    'vary-both-absent': pair('Foo', {}, {}, true),
    'vary-two-same': pair('Foo, Bar', { Foo: '1', Bar: 'a' }, { Foo: '1', Bar: 'a' }, true),
    'vary-others-ignored': pair('Foo', { Foo: '1', Other: 'a' }, { Foo: '1', Other: 'b' }, true),
    'vary-name-case-same': pair('fOO', { FOO: '1' }, { foo: '1' }, true),
    'vary-empty': pair('', { Foo: '1' }, { Foo: '2' }, true),
    'vary-commas': pair(', Foo,,', { Foo: '1' }, { Foo: '1' }, true),
  }),
  rule('9111 §4.1', 'optimal', 'insignificant whitespace and line breaks are normalised', {
    'vary-white-space': pair('Foo', { Foo: 'a, b' }, { Foo: 'a,b' }, true),
    'vary-white-space-tabs': pair('Foo', { Foo: 'a ,\tb' }, { Foo: 'a, b' }, true),
    'vary-lines': [miss(varying('Foo'), { send: { Foo: ['a', 'b'] } }), hit({ send: { Foo: 'a, b' } })],
    'vary-language-order': pair(
      'Accept-Language',
      { 'Accept-Language': 'en, de' },
      { 'Accept-Language': 'de, en' },
      true,
    ),
    'vary-language-case': pair('Accept-Language', { 'Accept-Language': 'en-GB' }, { 'Accept-Language': 'EN-gb' }, true),
    'vary-language-default-weight': pair(
      'Accept-Language',
      { 'Accept-Language': 'en;q=1.0' },
      { 'Accept-Language': 'en' },
      true,
    ),
    'vary-language-weights-order': pair(
      'Accept-Language',
      { 'Accept-Language': 'en;q=0.5, de;q=0.8' },
      { 'Accept-Language': 'de;q=0.8,en;q=0.5' },
      true,
    ),
  }),
  rule('9111 §4.1', 'optimal', 'a visitor who prefers the language of the page gets it', {
    'vary-language-matches-content': pair(
      'Accept-Language',
      { 'Accept-Language': 'en, de;q=0.5' },
      { 'Accept-Language': 'en, fr;q=0.2' },
      true,
      { 'Content-Language': 'en' },
    ),
  }),
  rule('9111 §4.1', 'required', 'other languages get other pages', {
    'vary-language-other': pair('Accept-Language', { 'Accept-Language': 'en' }, { 'Accept-Language': 'de' }, false, {
      'Content-Language': 'en',
    }),
    'vary-language-no-content': pair(
      'Accept-Language',
      { 'Accept-Language': 'en, de;q=0.5' },
      { 'Accept-Language': 'en' },
      false,
    ),
    'vary-language-other-weights': pair(
      'Accept-Language',
      { 'Accept-Language': 'en;q=0.5, de' },
      { 'Accept-Language': 'en, de;q=0.5' },
      false,
    ),
    'vary-language-two-best': pair(
      'Accept-Language',
      { 'Accept-Language': 'en' },
      { 'Accept-Language': 'en, de' },
      false,
      { 'Content-Language': 'en' },
    ),
  }),
  rule('9111 §4.1', 'required', 'Vary: * never matches', {
    'vary-star': notStored(varying('*')),
    'vary-star-among': notStored(varying('Foo, *')),
    'vary-star-second-line': notStored(varying(['Foo', '*'])),
    'vary-star-first': notStored(varying('*, Foo')),
  }),
]

const variants = [
  rule('9111 §4.1', 'optimal', 'several variants are stored', {
    'vary-three': [
      miss(varying('Foo'), { send: { Foo: '1' } }),
      miss(varying('Foo'), { send: { Foo: '2' } }),
      miss(varying('Foo'), { send: { Foo: '3' } }),
      hit({ send: { Foo: '1' }, body: 0 }),
      hit({ send: { Foo: '2' }, body: 1 }),
      hit({ send: { Foo: '3' }, body: 2 }),
    ],
    'vary-and-none': [
      miss(varying('Foo'), { send: { Foo: '1' } }),
      miss(varying('Foo')),
      hit({ send: { Foo: '1' } }),
      hit({ body: 1 }),
    ],
  }),
  rule('9111 §4.1', 'required', 'of several matching variants the latest is served', {
    'vary-latest-wins': [
      miss(varying('Foo'), { send: { Foo: '1', Bar: 'a' } }),
      miss(varying('Foo, Bar'), { wait: 1, send: { Foo: '2', Bar: 'a' } }),
      miss(varying('Bar'), { wait: 1, send: { Foo: '3', Bar: 'a' } }),
      hit({ wait: 1, send: { Foo: '1', Bar: 'a' }, body: 2 }),
    ],
    'vary-gone': [
      miss(varying('Foo'), { send: { Foo: '1' } }),
      miss({ 'Cache-Control': 'max-age=3600' }, { wait: 1, send: { Foo: '2' } }),
      hit({ wait: 1, send: { Foo: '1' }, body: 1 }),
    ],
  }),
  rule('9111 §4.1', 'ours', 'Vary: Cookie is cached for visitors without cookies outside the key', {
    'vary-cookie-none': stored(varying('Cookie')),
    'vary-cookie-reader': [
      miss(varying('Cookie')),
      miss(varying('Cookie', { 'Cache-Control': 'public, max-age=3600' }), { send: { Cookie: 'a=1' } }),
      hit(),
    ],
    'vary-cookie-filler': [
      miss(varying('Cookie', { 'Cache-Control': 'public, max-age=3600' }), { send: { Cookie: 'a=1' } }),
      miss(varying('Cookie'), { send: { Cookie: 'a=1' } }),
    ],
  }),
  rule('9110 §12.5.3', 'ours', 'Vary: Accept-Encoding creates no variants', {
    ...named(
      { gzip: 'gzip', br: 'br', identity: 'identity', any: '*' },
      (coding) => [miss(varying('Accept-Encoding')), hit({ send: { 'Accept-Encoding': coding } })],
      'vary-encoding-',
    ),
    ...named(
      { gzip: 'gzip', identity: 'identity' },
      (coding) => [
        miss(varying('Accept-Encoding'), { send: { 'Accept-Encoding': coding }, sent: { 'accept-encoding': coding } }),
      ],
      'vary-encoding-forwarded-',
    ),
  }),
]

export const vary: Case[] = [selecting, variants].flat(2)
