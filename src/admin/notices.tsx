import { createContext, type ComponentChildren } from 'preact'
import { useCallback, useContext, useEffect, useState } from 'preact/hooks'
import { ApiError } from './api.ts'

/** Shows what an action has done, or why it failed. */
export type Notify = (text: string, failed?: boolean) => void

const NotifyContext = createContext<Notify>(() => {})

export function useNotify(): Notify {
  return useContext(NotifyContext)
}

interface Notice {
  text: string
  failed: boolean
}

/** Milliseconds. A failure stays until it is closed. */
const shownFor = 8000

/** The last notice, above the page, so that it stays in view when a list below it is refreshed. */
export function Notices({ children }: { children: ComponentChildren }) {
  const [notice, setNotice] = useState<Notice | null>(null)
  const notify = useCallback<Notify>((text, failed = false) => setNotice(text === '' ? null : { text, failed }), [])
  useEffect(() => {
    if (notice === null || notice.failed) return
    const timer = setTimeout(() => setNotice(null), shownFor)
    return () => clearTimeout(timer)
  }, [notice])
  return (
    <NotifyContext.Provider value={notify}>
      {children}
      <div class="notices" role="status">
        {notice === null ? null : (
          <p class={notice.failed ? 'notice failed' : 'notice'}>
            <span>{notice.text}</span>{' '}
            <button type="button" aria-label="Close this message" onClick={() => setNotice(null)}>
              ×
            </button>
          </p>
        )}
      </div>
    </NotifyContext.Provider>
  )
}

/** Runs a request to the daemon and shows its result. Resolves to whether it succeeded. */
export async function report(notify: Notify, act: () => Promise<string>): Promise<boolean> {
  try {
    notify(await act())
    return true
  } catch (error) {
    const isReadOnly = error instanceof ApiError && error.status === 403
    notify(isReadOnly ? 'This client has read-only access.' : (error as Error).message, true)
    return false
  }
}
