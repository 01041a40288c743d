import type { Clock } from '../../lib/clock.ts'
import { discard } from '../body.ts'
import type { Fetched } from '../fetched.ts'
import { usability } from '../freshness.ts'
import type { Lookup } from '../lookup.ts'
import { OriginError, unlessAborted } from '../origin.ts'
import type { HeldPage } from '../view.ts'
import type { Assembler } from './assembler.ts'

/**
 * Fetches the fragments that a page lacks into the cache. Where one fails, the page is made as for a visitor, since the
 * fragment may be optional or have an alternative.
 *
 * @param warm fetches one of them, and those within it; null when it is fresh
 * @throws OriginError when a visitor of the page would get an error, and when `signal` is aborted
 */
export async function warmFragments(
  assembler: Assembler,
  lookup: Lookup,
  held: HeldPage | null,
  warm: (fragment: Lookup) => Promise<Fetched | null>,
  signal: AbortSignal,
): Promise<void> {
  let failure: OriginError | null = null
  for (const fragment of assembler.fragmentsAt(lookup, held)) {
    try {
      const made = await warm(fragment)
      if (made?.kind === 'stream') discard(made.body)
      if (made !== null && made.status >= 300 && made.status !== 304)
        failure ??= new OriginError(`${fragment.target.path} failed: status ${made.status}`, 'broken')
    } catch (error) {
      if (!(error instanceof OriginError) || signal.aborted) throw error
      failure ??= error
    }
  }
  // The page that the visitor gets decides.
  if (failure !== null && lookup.within !== undefined) throw failure
  if (failure !== null) await unlessAborted(assembler.assemble(lookup, held!, null), signal)
}

/** Whether a page has fragments that are not fresh in the cache. */
export function lacksFragments(
  assembler: Assembler,
  lookup: Lookup,
  held: HeldPage,
  find: (fragment: Lookup) => HeldPage | null,
  now: Clock,
): boolean {
  if (held.assembly !== undefined) return false
  return assembler.fragmentsAt(lookup, held).some((fragment) => {
    const found = find(fragment)
    if (found === null || usability(found.page, now()) !== 'fresh') return true
    return lacksFragments(assembler, fragment, found, find, now)
  })
}
