import { useLayoutEffect, useState } from 'preact/hooks'

/**
 * The text of a field whose initial value is in the URL. When a link or Back changes the URL, the text follows.
 *
 * @param value the value in the URL
 */
export function useText(value: string): [string, (text: string) => void] {
  const [text, setText] = useState(value)
  // Before the browser paints: a later effect would undo what has been typed in the meantime.
  useLayoutEffect(() => setText(value), [value])
  return [text, setText]
}
