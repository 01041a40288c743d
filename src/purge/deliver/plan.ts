/** A purge that a proxy has still to be told of. */
export interface Pending {
  /** Of the purge; counts up in the order of the purges. */
  id: number
  kind: 'url' | 'tag' | 'entity' | 'type' | 'all' | 'pattern'
  soft: boolean
  /** Requests that were made for it and came to nothing. */
  attempts: number
  /** What is purged: a tag, an absolute URL, a regular expression; null where the kind says it all. */
  key: string | null
}

/** One request to a proxy, and the purges that are done with it. */
export type Step =
  | { kind: 'tags'; tags: readonly string[]; soft: boolean; ids: readonly number[] }
  | { kind: 'url'; host: string; path: string; ids: readonly number[] }
  | { kind: 'pattern'; pattern: string; ids: readonly number[] }
  /** Does for every purge that was asked for before it. */
  | { kind: 'everything' }

/** Tags of one request, as Shopware's gateway sends them, and the bytes of a header line that Varnish takes by default (`http_req_hdr_len`, 8 KiB) with room to spare. */
const tagsAtOnce = 50
const longestLine = 7500

/**
 * The requests that tell a proxy of these purges. Purges take pages away and nothing else, so that their order among each other
 * changes nothing, and the same key twice is one request. Everything is everything: it does for all others.
 */
export function planDelivery(pending: readonly Pending[]): Step[] {
  if (pending.some(isEverything)) return [{ kind: 'everything' }]
  return [...tagSteps(pending, false), ...tagSteps(pending, true), ...urlSteps(pending), ...patternSteps(pending)]
}

/** Varnish knows no types of pages. */
function isEverything({ kind, key }: Pending): boolean {
  if (kind === 'all' || kind === 'type' || key === null) return true
  if (kind === 'pattern') return !maySendPattern(key)
  return kind === 'url' && !URL.canParse(key)
}

/**
 * Varnish's engine goes back and forth, and gives up where that takes long: the pages would stay. It is given what it is quick
 * with and means the same to both engines, and only what can stand in a request line.
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
    if (tags.length === tagsAtOnce || bytes + size > longestLine) flush()
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

/** The purges of each key, in the order in which the keys came first. */
function byKey(pending: readonly Pending[]): Map<string, number[]> {
  const rows = new Map<string, number[]>()
  for (const { key, id } of pending) {
    const own = rows.get(key!)
    if (own === undefined) rows.set(key!, [id])
    else own.push(id)
  }
  return rows
}
