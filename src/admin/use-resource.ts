import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { useApi } from './session.ts'
import type { Api, Query } from './api.ts'

export interface Resource<T> {
  /** The last answer; null before the first. It stays while the daemon is away. */
  value: T | null
  /** Why the last question had no answer. */
  error: Error | null
  /** Asks again at once. */
  refresh(): void
}

/** What the daemon answers to a question, asked again every `every` milliseconds while the page is seen; null asks nothing. */
export function useResource<T>(
  path: string | null,
  query: Query = {},
  every = 2000,
  method: 'get' | 'ask' = 'get',
): Resource<T> {
  const question = path === null ? null : (api: Api, signal: AbortSignal) => api[method]<T>(path, query, signal)
  return useAnswer(`${method} ${path} ${JSON.stringify(query)}`, question, every)
}

/** The same for any question; `key` says which one it is. One that is under way when another is asked is given up. */
export function useAnswer<T>(
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
    const ask = async () => {
      if (!document.hidden) {
        try {
          const value = await current.current!(api, over.signal)
          setAnswer({ of: asked, value, error: null })
        } catch (error) {
          if (over.signal.aborted) return
          setAnswer((last) => ({ of: asked, value: last.of === asked ? last.value : null, error: error as Error }))
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
