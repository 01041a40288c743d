import type { Clock } from '../lib/clock.ts'
import type { MemoryTier } from '../pages/memory-tier.ts'
import type { HeaderPair } from '../pages/page.ts'
import type { Fence } from '../pages/page-store.ts'
import { takesBrotli } from './accept-encoding.ts'
import type { Bodies } from './bodies.ts'
import { noted, partial, type CacheStatus } from './cache-status.ts'
import type { Assembler, Obtained } from './esi/assembler.ts'
import { presentationOf } from './form.ts'
import type { Lookup } from './lookup.ts'
import { answerFrom } from './present.ts'
import { mergedCookies, setCookieFields } from './set-cookie.ts'
import type { HeldPage } from './view.ts'
import type { CacheAnswer } from './visit.ts'

interface PresenterOptions {
  memory: MemoryTier
  now: Clock
  bodies: Bodies
  assembler: Assembler
}

/** Makes answers of pages and, for templates, of the pages that they make. */
export class Presenter {
  readonly #options: PresenterOptions

  constructor(options: PresenterOptions) {
    this.#options = options
  }

  /**
   * Serves a page from the cache. Null when its body no longer exists.
   *
   * @param fence taken before the page was looked for
   */
  async hit(lookup: Lookup, held: HeldPage, fence: Fence, detail?: string): Promise<CacheAnswer | null> {
    const { memory, now } = this.#options
    const started = performance.now()
    const ttl = (held.page.staleAt - now()) / 1000
    const status: CacheStatus = { kind: 'hit', ttl, ...(detail !== undefined && { detail }) }
    const answer = await this.present(lookup, held, status, { fence, shareable: true })
    if (answer === null) return null
    const entry = answer.source ?? held
    entry.takesBrotli ||= takesBrotli(lookup.field('accept-encoding'))
    memory.countHit(entry, performance.now() - started, now())
    return answer
  }

  /**
   * The answer from a page. Null when its body no longer exists.
   *
   * @param live the fields just received, for the visitor who caused the fetch
   */
  async present(
    lookup: Lookup,
    held: HeldPage,
    cacheStatus: CacheStatus,
    obtained: Obtained,
    live: readonly HeaderPair[] | null = null,
  ): Promise<CacheAnswer | null> {
    const { assembler, bodies, now } = this.#options
    const isTemplate = held.page.fragments !== undefined && held.assembly === undefined
    const made = isTemplate
      ? await assembler.assemble(lookup, held, obtained)
      : { held, shareable: obtained.shareable, forwarded: null, cookies: [] }
    if (made === null) return null
    const fields = isTemplate ? undefined : (live ?? undefined)
    const status = noted(partial(cacheStatus, made.forwarded), made.held, now())
    const presentation = presentationOf(lookup.visit.method, lookup.field)
    const answer = await answerFrom(made.held, presentation, now(), status, bodies, fields)
    if (answer === null) return null
    const cookies =
      isTemplate && !lookup.isAsset
        ? mergedCookies([setCookieFields(live ?? []), made.cookies], lookup.visitor.cookies)
        : []
    return {
      ...answer,
      headers: cookies.length === 0 ? answer.headers : [...answer.headers, ...cookies],
      type: made.held.page.type,
      ...(made.shareable && { source: made.held }),
    }
  }
}
