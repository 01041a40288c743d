import { RE2JS, RE2JSSyntaxException } from 're2js'
import { PagecacheError } from '../errors.ts'

/** Most characters of an expression. */
const maxLength = 1_000

/**
 * Most instructions of the compiled expression times characters of the path: about 5 ms, during which the event loop is blocked. Beyond
 * that a path counts as a match: purging a page too many costs a fetch, purging one too few leaves it outdated.
 */
const maxSteps = 2 ** 18

/**
 * Compiles a regular expression over path and query of a URL, in RE2 syntax: it runs in linear time, even if written to be slow. As in
 * Varnish, it is not anchored. A path that is too long for the expression always matches.
 *
 * @throws INVALID_INPUT
 */
export function toMatcher(pattern: string): (url: string) => boolean {
  const expression = compile(pattern)
  const longestPath = maxSteps / expression.programSize()
  return (url) => {
    const path = pathOf(url)
    return path.length > longestPath || expression.matcher(path).find()
  }
}

function compile(pattern: string): RE2JS {
  if (pattern.length > maxLength)
    throw new PagecacheError('INVALID_INPUT', `A regular expression has at most ${maxLength} characters`)
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error
    throw new PagecacheError(
      'INVALID_INPUT',
      `${JSON.stringify(pattern)} is not a regular expression: ${error.message}`,
      {
        hint: 'The syntax is RE2, without look-around and back-references.',
        cause: error,
      },
    )
  }
}

function pathOf(url: string): string {
  const slash = url.indexOf('/', url.indexOf('://') + 3)
  return slash < 0 ? '/' : url.slice(slash)
}
