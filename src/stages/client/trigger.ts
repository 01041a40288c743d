import type { StageTrigger } from '../look.ts'

/** Resolves as soon as one of the conditions is met; at once if there is none. */
export function whenTriggered({ delay, scroll, exitIntent }: StageTrigger): Promise<void> {
  return new Promise((resolve) => {
    const stop = new AbortController()
    const { signal } = stop
    const open = () => {
      stop.abort()
      resolve()
    }
    if (delay === null && scroll === null && !exitIntent) open()
    if (delay !== null) setTimeout(open, delay * 1000)
    if (scroll !== null) {
      const check = () => {
        const { scrollHeight, clientHeight } = document.documentElement
        // A page that fits into the window is seen as a whole.
        if (scrollY >= ((scrollHeight - clientHeight) * scroll) / 100 - 1) open()
      }
      addEventListener('scroll', check, { passive: true, signal })
      check()
    }
    // Not while text is selected or something is dragged.
    if (exitIntent)
      document.documentElement.addEventListener(
        'mouseleave',
        ({ clientY, buttons }) => clientY <= 0 && buttons === 0 && open(),
        { signal },
      )
  })
}
