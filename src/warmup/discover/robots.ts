import { globMatcher, type GlobMatcher } from '../../lib/glob.ts'

/** The rules of a robots.txt for this crawler (RFC 9309; `Crawl-delay` and `Sitemap` are widely used extensions). */
export interface Robots {
  sitemaps: string[]
  /** Milliseconds between two requests; null if the file sets none. */
  crawlDelay: number | null
  /** Whether a request target (path and query) may be fetched. */
  allows(target: string): boolean
}

interface Rule {
  allow: boolean
  pattern: string
}

interface Group {
  agents: string[]
  rules: Rule[]
  crawlDelay: number | null
}

/** The product token of this crawler. Its groups apply if there are any, else the groups of `*` (RFC 9309 §2.2.1). */
const agent = 'pagecache'

/** Each URL is matched against every wildcard pattern in turn, so their number and total length are bounded. */
const maxWildcards = 1000
const maxWildcardCharacters = 32_768

/**
 * Parses a robots.txt; docs/decisions/0065-robots-txt.md says why no library does.
 *
 * @throws Error if its wildcard rules exceed the limits
 */
export function parseRobots(text: string): Robots {
  const { groups, sitemaps } = readGroups(text)
  const own = groups.filter((group) => group.agents.includes(agent))
  const chosen = own.length > 0 ? own : groups.filter((group) => group.agents.includes('*'))
  const delay = chosen.map((group) => group.crawlDelay).find((value) => value !== null)
  return { sitemaps, crawlDelay: delay ?? null, allows: compile(chosen.flatMap((group) => group.rules)) }
}

function readGroups(text: string): { groups: Group[]; sitemaps: string[] } {
  const groups: Group[] = []
  const sitemaps: string[] = []
  let inAgents = false
  for (const line of text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/)) {
    const match = /^\s*([a-z-]+)\s*:\s*([^#]*)/i.exec(line)
    if (!match) continue
    const name = match[1]!.toLowerCase()
    const value = match[2]!.trim()
    if (name === 'sitemap') {
      // A sitemap URL may contain a `#`, which starts a comment everywhere else.
      sitemaps.push(line.slice(line.indexOf(':') + 1).trim())
      continue
    }
    if (name === 'user-agent') {
      if (!inAgents) groups.push({ agents: [], rules: [], crawlDelay: null })
      groups.at(-1)!.agents.push(/^[a-z_*-]+/i.exec(value)?.[0].toLowerCase() ?? '')
      inAgents = true
      continue
    }
    addRule(groups.at(-1), name, value)
    if (name === 'allow' || name === 'disallow' || name === 'crawl-delay') inAgents = false
  }
  return { groups, sitemaps }
}

function addRule(group: Group | undefined, name: string, value: string): void {
  if (!group) return
  if ((name === 'allow' || name === 'disallow') && value !== '')
    group.rules.push({ allow: name === 'allow', pattern: normalise(value) })
  const seconds = Number(value)
  if (name === 'crawl-delay' && value !== '' && Number.isFinite(seconds) && seconds >= 0)
    group.crawlDelay = seconds * 1000
}

/** The longest matching pattern decides; between equally long ones, `Allow` wins (RFC 9309 §2.2.2). */
function compile(rules: readonly Rule[]): (target: string) => boolean {
  const isWildcard = ({ pattern }: Rule) => /\*|\$$/.test(pattern)
  const wildcards = compileWildcards(rules.filter(isWildcard))
  const prefixes = new Map<string, boolean>()
  for (const { allow, pattern } of rules.filter((rule) => !isWildcard(rule)))
    prefixes.set(pattern, allow || (prefixes.get(pattern) ?? false))
  const lengths = [...new Set([...prefixes.keys()].map((prefix) => prefix.length))].toSorted((a, b) => b - a)

  return (target) => {
    if (target === '/robots.txt' || rules.length === 0) return true
    const path = normalise(target)
    const length = lengths.find((candidate) => prefixes.has(path.slice(0, candidate)) && candidate <= path.length) ?? -1
    const plain = length < 0 ? true : prefixes.get(path.slice(0, length))!
    const wildcard = wildcards.find(({ pattern, matches }) => pattern.length >= length && matches(path))
    if (!wildcard) return plain
    return wildcard.pattern.length > length ? wildcard.allow : wildcard.allow || plain
  }
}

/** Sorts by precedence. Checks the limits first, because compiling is the expensive part. */
function compileWildcards(rules: readonly Rule[]): (Rule & { matches: GlobMatcher })[] {
  const characters = rules.reduce((sum, { pattern }) => sum + pattern.length, 0)
  if (characters > maxWildcardCharacters)
    throw new Error(`robots.txt has more than ${maxWildcardCharacters} characters of rules with wildcards`)
  if (rules.length > maxWildcards) throw new Error(`robots.txt has more than ${maxWildcards} rules with wildcards`)
  return rules
    .toSorted((a, b) => b.pattern.length - a.pattern.length || Number(b.allow) - Number(a.allow))
    .map((rule) => ({ ...rule, matches: toMatcher(rule.pattern) }))
}

/** `*` matches any characters; a trailing `$` anchors the pattern at the end. */
function toMatcher(pattern: string): GlobMatcher {
  return globMatcher(pattern.endsWith('$') ? pattern.slice(0, -1) : `${pattern}*`)
}

/** Normalises percent-encoding, so that equivalent rules and URLs compare equal (RFC 9309 §2.2.2). */
function normalise(text: string): string {
  return text.replace(/%[0-9a-f]{2}|[^\x21-\x7e]/giu, (part) => {
    if (!part.startsWith('%')) return encodeURIComponent(part.toWellFormed())
    const character = String.fromCharCode(Number.parseInt(part.slice(1), 16))
    return /[\w.~-]/.test(character) ? character : part.toUpperCase()
  })
}
