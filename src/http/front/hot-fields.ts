/**
 * Why a request field rules out the fast answer:
 * - `semantics`: the answer may differ from the stored page, so the full path through the cache decides, on every connection.
 * - `framing`: only Node's parser may decide where the message ends or what happens to the connection.
 * - `body`: a GET with a body; Node's parser reads it.
 * - `handover`: the field is part of the key, so the full path decides.
 * - `tags`: served after the connection went to Node's server, because the field needs a trust check.
 */
type Reason = 'semantics' | 'framing' | 'body' | 'handover' | 'tags'

/** Every request field that keeps a request from being answered straight from the socket or from memory. The only such list. */
const reasons: Readonly<Record<string, Reason>> = {
  authorization: 'semantics',
  'if-match': 'semantics',
  'if-unmodified-since': 'semantics',
  'sw-cache-hash': 'semantics',
  connection: 'framing',
  expect: 'framing',
  'transfer-encoding': 'framing',
  upgrade: 'framing',
  'content-length': 'body',
  'x-pagecache-debug': 'tags',
  'x-pagecache-tags': 'tags',
  'x-requested-with': 'handover',
}

/** These fields by the length of their names, for speed. */
export const disqualifying = Map.groupBy(
  Object.entries(reasons).map(([name, reason]) => ({ name, reason })),
  ({ name }) => name.length,
)

/** The fields that may change the answer, lower-cased. */
export const semanticFields: readonly string[] = Object.keys(reasons).filter((name) => reasons[name] === 'semantics')
