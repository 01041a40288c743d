import { globMatcher, type GlobMatcher } from '../../lib/glob.ts'

/** What a robots.txt says to us (RFC 9309; `Crawl-delay` and `Sitemap` are widely used additions). */
export interface Robots {
  sitemaps: string[]
  /** Milliseconds between two requests; null where nothing is said. */
  crawlDelay: number | null
  /** Whether a request target (path and query) may be fetched. */
  allows(target: string): boolean
}

interface Group {
  agents: string[]
  rules: { allow: boolean; pattern: string }[]
  crawlDelay: number | null
}

/** Our product token; its group counts alone where there is one, else that of `*` (RFC 9309 §2.2.1). */
const agent = 'pagecache'

/** Patterns with wildcards are tried one by one for each URL, so that their number and their length in all have to be bounded. */
const wildcardLimit = 1000
const wildcardCharacters = 32_768

/** @throws Error when the rules for us are more than can be obeyed */
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
      // A location may hold a `#`; for this line alone it starts no comment.
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

/** The longest pattern that matches decides; of two equally long ones the allowing (RFC 9309 §2.2.2). */
function compile(rules: Group['rules']): (target: string) => boolean {
  const prefixes = new Map<string, boolean>()
  const wildcards: { allow: boolean; pattern: string; matches: GlobMatcher }[] = []
  for (const { allow, pattern } of rules) {
    if (/\*|\$$/.test(pattern)) wildcards.push({ allow, pattern, matches: toMatcher(pattern) })
    else prefixes.set(pattern, allow || (prefixes.get(pattern) ?? false))
  }
  const characters = wildcards.reduce((sum, { pattern }) => sum + pattern.length, 0)
  if (characters > wildcardCharacters)
    throw new Error(`robots.txt has more than ${wildcardCharacters} characters of rules with wildcards`)
  if (wildcards.length > wildcardLimit)
    throw new Error(`robots.txt has more than ${wildcardLimit} rules with wildcards`)
  const lengths = [...new Set([...prefixes.keys()].map((prefix) => prefix.length))].toSorted((a, b) => b - a)
  wildcards.sort((a, b) => b.pattern.length - a.pattern.length || Number(b.allow) - Number(a.allow))

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

/** `*` is anything, `$` at the end is the end. */
function toMatcher(pattern: string): GlobMatcher {
  return globMatcher(pattern.endsWith('$') ? pattern.slice(0, -1) : `${pattern}*`)
}

/** Escapes in one form, so that a rule and a URL that mean the same are the same (RFC 9309 §2.2.2). */
function normalise(text: string): string {
  return text.replace(/%[0-9a-f]{2}|[^\x21-\x7e]/giu, (part) => {
    if (!part.startsWith('%')) return encodeURIComponent(part.toWellFormed())
    const character = String.fromCharCode(Number.parseInt(part.slice(1), 16))
    return /[\w.~-]/.test(character) ? character : part.toUpperCase()
  })
}
