import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { useApi } from './api-context.ts'
import type { Api, Query } from './api.ts'

/** Milliseconds after which a value without an answer counts as out of date. */
const slowAfter = 10_000
/** The longest pause before a failed request is repeated, in milliseconds. */
const retryAfter = 5_000

export interface Resource<T> {
  /** The latest value; null before the first. Kept while the daemon is unreachable. */
  value: T | null
  /** Why the last request failed; null if it succeeded. */
  error: Error | null
  /** Whether `value` belongs to an earlier request, such as the previous page of a list. */
  isOld: boolean
  /** Requests the value again at once. */
  refresh(): void
}

/** A value of the API, requested every `every` milliseconds while the page is visible; a null path requests nothing. */
export function useResource<T>(
  path: string | null,
  query: Query = {},
  every = 2000,
  method: 'get' | 'ask' = 'get',
): Resource<T> {
  const question: Ask<T> | null = path === null ? null : (api, signal) => api[method]<T>(path, query, signal)
  return useAnswer(`${method} ${path} ${JSON.stringify(query)}`, question, every)
}

/** Loads a value. `show` displays a partial value. */
export type Ask<T> = (api: Api, signal: AbortSignal, show: (part: T) => void) => Promise<T>

/**
 * A value that `question` loads, loaded again when `key` changes; a request in progress is then abandoned.
 *
 * @param keeps whether the earlier value stays until the next one is there
 */
export function useAnswer<T>(key: string, question: Ask<T> | null, every: number, keeps = false): Resource<T> {
  const api = useApi()
  const [answer, setAnswer] = useState<{ of: string; value: T | null; error: Error | null }>({
    of: '',
    value: null,
    error: null,
  })
  const [turn, setTurn] = useState(0)
  const asked = question === null ? '' : key
  const current = useRef(question)
  current.current = question
  useEffect(() => {
    if (asked === '') return
    let isKnown = false
    const fail = (error: Error) =>
      setAnswer((last) => ({ of: asked, value: last.of === asked ? last.value : null, error }))
    return poll<T>(every, (signal, show) => current.current!(api, signal, show), {
      fail,
      show: (value, isWhole) => {
        // While a value is reloaded, it stays until the new one is complete.
        if (isWhole || !isKnown) setAnswer({ of: asked, value, error: null })
        isKnown ||= isWhole
      },
    })
  }, [api, asked, every, turn])
  const refresh = useCallback(() => setTurn((last) => last + 1), [])
  const known = answer.of === asked
  const value = known || (keeps && asked !== '') ? answer.value : null
  return { value, error: known ? answer.error : null, isOld: !known && value !== null, refresh }
}

/** Loads a value repeatedly while the page is visible. Returns a function that stops it. */
function poll<T>(
  every: number,
  load: (signal: AbortSignal, show: (part: T) => void) => Promise<T>,
  { show, fail }: { show(value: T, isWhole: boolean): void; fail(error: Error): void },
): () => void {
  const over = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const ask = async () => {
    // Keep waiting: the response may just be slow.
    const wait = () => setTimeout(() => fail(new Error('The daemon has not answered for ten seconds.')), slowAfter)
    let late = wait()
    try {
      const value = await load(over.signal, (part) => {
        clearTimeout(late)
        if (over.signal.aborted) return
        late = wait()
        show(part, false)
      })
      if (!over.signal.aborted) show(value, true)
      return every
    } catch (error) {
      if (!over.signal.aborted) fail(error as Error)
      return Math.min(every, retryAfter)
    } finally {
      clearTimeout(late)
    }
  }
  const turn = async () => {
    const pause = document.hidden ? every : await ask()
    if (!over.signal.aborted) timer = setTimeout(turn, pause)
  }
  void turn()
  return () => {
    over.abort()
    clearTimeout(timer)
  }
}
