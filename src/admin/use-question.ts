import { useEffect, useRef, useState } from 'preact/hooks'
import { useRoute } from './route.ts'

/**
 * The field of a question that the address of the page holds, so that links can ask it too. `place` is for the panel of the field: a link
 * brings it into view, because the link may be far down in a list.
 *
 * @param name of the parameter
 */
export function useQuestion(name: string) {
  const asked = useRoute().params[name] ?? ''
  const [text, setText] = useState(asked)
  const place = useRef<HTMLElement>(null)
  useEffect(() => {
    if (text.trim() === asked) return
    setText(asked)
    if (asked === '') return
    place.current?.focus({ preventScroll: true })
    place.current?.scrollIntoView()
  }, [asked])
  return { asked, text, setText, place }
}
