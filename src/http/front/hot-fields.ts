/**
 * Why a request field rules out the fast answer:
 * - `semantics`: the answer may differ from the stored page, so the full path through the cache decides, on every connection.
 * - `framing`: only Node's parser may decide where the message ends or what happens to the connection.
 * - `body`: a GET with a body; Node's parser reads it.
 * - `handover`: served after the connection went to Node's server, where the field is part of the key or needs a trust check.
 */
type Reason = 'semantics' | 'framing' | 'body' | 'handover'

/** Every request field that keeps a request from being answered straight from the socket or from memory. The only such list. */
const disqualifying: Readonly<Record<string, Reason>> = {
  authorization: 'semantics',
  'if-match': 'semantics',
  'if-unmodified-since': 'semantics',
  'sw-cache-hash': 'semantics',
  connection: 'framing',
  expect: 'framing',
  'transfer-encoding': 'framing',
  upgrade: 'framing',
  'content-length': 'body',
  'x-pagecache-tags': 'handover',
  'x-requested-with': 'handover',
}

/** The disqualifying fields of these kinds, lower-cased. */
export function fieldsThatDisqualify(...reasons: readonly Reason[]): readonly string[] {
  return Object.keys(disqualifying).filter((name) => reasons.includes(disqualifying[name]!))
}
