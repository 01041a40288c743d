import { RE2JS, RE2JSSyntaxException } from 're2js'
import { PagecacheError } from '../errors.ts'

/** Longer expressions come from nobody who bans pages. */
const longest = 1_000

/**
 * Instructions of the compiled expression times characters of a path: some 5 ms, in which the event loop does nothing else. What would
 * take longer counts as a match: a page too many is fetched again, a page too few would be an old one.
 */
const mostWork = 2 ** 18

/**
 * A regular expression over path and query of a URL, in RE2's syntax: it takes time in proportion to the text, whoever wrote it. As
 * in Varnish, it may match anywhere. Paths that are too long for the expression match without being looked at.
 *
 * @throws INVALID_INPUT
 */
export function toMatcher(pattern: string): (url: string) => boolean {
  const expression = compile(pattern)
  const longestPath = mostWork / expression.programSize()
  return (url) => {
    const path = pathOf(url)
    return path.length > longestPath || expression.matcher(path).find()
  }
}

function compile(pattern: string): RE2JS {
  if (pattern.length > longest)
    throw new PagecacheError('INVALID_INPUT', `A regular expression of more than ${longest} characters is not taken`)
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error
    throw new PagecacheError('INVALID_INPUT', `${JSON.stringify(pattern)} is no regular expression: ${error.message}`, {
      hint: 'Look-around and references are not in RE2, whose syntax this is.',
      cause: error,
    })
  }
}

function pathOf(url: string): string {
  const slash = url.indexOf('/', url.indexOf('://') + 3)
  return slash < 0 ? '/' : url.slice(slash)
}
