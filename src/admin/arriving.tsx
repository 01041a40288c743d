import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Content that a button of a list opens elsewhere on the page: it is focused and scrolled into view. */
export function Arriving({ children }: { children: ComponentChildren }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    place.current?.focus({ preventScroll: true })
    place.current?.scrollIntoView()
  }, [])
  return (
    <div ref={place} tabIndex={-1} class="arriving">
      {children}
    </div>
  )
}
