/** A purge that a proxy has not acknowledged. */
export interface Pending {
  /** The purge's row number: later purges have higher numbers. */
  id: number
  kind: 'url' | 'tag' | 'entity' | 'type' | 'all' | 'pattern'
  soft: boolean
  /** Failed requests for it so far. */
  attempts: number
  /** A tag, an absolute URL or a regular expression; null for the kinds `all` and `type`. */
  key: string | null
}

/** One request to a proxy, and the purges that it delivers. */
export type Step =
  | { kind: 'tags'; tags: readonly string[]; soft: boolean; ids: readonly number[] }
  | { kind: 'url'; host: string; path: string; ids: readonly number[] }
  | { kind: 'pattern'; pattern: string; ids: readonly number[] }
  /** Delivers every earlier purge. */
  | { kind: 'everything' }

/** Most tags of one request, as in Shopware's gateway. */
const maxTags = 50
/** Most bytes of the xkey line: below Varnish's default `http_req_hdr_len` of 8 KiB. */
const maxLineLength = 7500

/**
 * Plans the requests that deliver these purges to a proxy. A purge only removes pages, so the order does not matter and a repeated key
 * is sent once. A purge of everything replaces all others.
 */
export function planDelivery(pending: readonly Pending[]): Step[] {
  if (pending.some(isEverything)) return [{ kind: 'everything' }]
  return [...tagSteps(pending, false), ...tagSteps(pending, true), ...urlSteps(pending), ...patternSteps(pending)]
}

/** Whether only a purge of everything delivers this one: Varnish does not know page types. */
function isEverything({ kind, key }: Pending): boolean {
  if (kind === 'all' || kind === 'type' || key === null) return true
  if (kind === 'pattern') return !maySendPattern(key)
  return kind === 'url' && !URL.canParse(key)
}

/**
 * Whether Varnish may evaluate the pattern itself. Its engine backtracks and gives up at a limit, which would leave the pages cached.
 * Only patterns that it evaluates quickly, that mean the same in RE2 and that are valid in a request line are sent.
 */
function maySendPattern(pattern: string): boolean {
  if (
    pattern === '/' ||
    pattern.length > 1000 ||
    !/^\/[!-"$-~]*$/.test(pattern) ||
    /\(\?|\)[*+?{]|\\[^\W_]|\[\[/.test(pattern)
  )
    return false
  return (pattern.match(/[*+{]/g) ?? []).length <= 2
}

function tagSteps(pending: readonly Pending[], soft: boolean): Step[] {
  const rows = byKey(pending.filter(({ kind, soft: own }) => (kind === 'tag' || kind === 'entity') && own === soft))
  const steps: Step[] = []
  let tags: string[] = []
  let ids: number[] = []
  let bytes = 0
  const flush = () => {
    if (tags.length > 0) steps.push({ kind: 'tags', tags, soft, ids })
    tags = []
    ids = []
    bytes = 0
  }
  for (const [tag, own] of rows) {
    const size = Buffer.byteLength(tag) + 1
    if (tags.length === maxTags || bytes + size > maxLineLength) flush()
    tags.push(tag)
    ids.push(...own)
    bytes += size
  }
  flush()
  return steps
}

function urlSteps(pending: readonly Pending[]): Step[] {
  return [...byKey(pending.filter(({ kind }) => kind === 'url'))].map(([text, ids]) => {
    const url = new URL(text)
    return { kind: 'url', host: url.host, path: url.pathname + url.search, ids }
  })
}

function patternSteps(pending: readonly Pending[]): Step[] {
  return [...byKey(pending.filter(({ kind }) => kind === 'pattern'))].map(([pattern, ids]) => ({
    kind: 'pattern',
    pattern,
    ids,
  }))
}

/** Ids of the purges by key, in the order in which the keys first appear. */
function byKey(pending: readonly Pending[]): Map<string, number[]> {
  const rows = new Map<string, number[]>()
  for (const { key, id } of pending) {
    const own = rows.get(key!)
    if (own === undefined) rows.set(key!, [id])
    else own.push(id)
  }
  return rows
}
