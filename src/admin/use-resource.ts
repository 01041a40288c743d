import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { useApi } from './api-context.ts'
import type { Api, Query } from './api.ts'

/** Milliseconds after which a value without an answer counts as out of date. */
const slowAfter = 10_000

export interface Resource<T> {
  /** The latest value; null before the first. Kept while the daemon is unreachable. */
  value: T | null
  /** Why the last request failed; null if it succeeded. */
  error: Error | null
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
  const question = path === null ? null : (api: Api, signal: AbortSignal) => api[method]<T>(path, query, signal)
  return useAnswer(`${method} ${path} ${JSON.stringify(query)}`, question, every)
}

/** A value that `ask` loads, loaded again when `key` changes; a request in progress is then abandoned. */
function useAnswer<T>(
  key: string,
  question: ((api: Api, signal: AbortSignal) => Promise<T>) | null,
  every: number,
): Resource<T> {
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
    const over = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const fail = (error: Error) =>
      setAnswer((last) => ({ of: asked, value: last.of === asked ? last.value : null, error }))
    const ask = async () => {
      if (!document.hidden) {
        // It goes on waiting: an answer may take long.
        const late = setTimeout(() => fail(new Error('The daemon has not answered for ten seconds.')), slowAfter)
        try {
          const value = await current.current!(api, over.signal)
          setAnswer({ of: asked, value, error: null })
        } catch (error) {
          if (over.signal.aborted) return
          fail(error as Error)
        } finally {
          clearTimeout(late)
        }
      }
      if (!over.signal.aborted) timer = setTimeout(ask, every)
    }
    void ask()
    return () => {
      over.abort()
      clearTimeout(timer)
    }
  }, [api, asked, every, turn])
  const refresh = useCallback(() => setTurn((last) => last + 1), [])
  const known = answer.of === asked
  return { value: known ? answer.value : null, error: known ? answer.error : null, refresh }
}
