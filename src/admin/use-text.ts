import { useLayoutEffect, useState } from 'preact/hooks'

/**
 * The text of a field that begins with a value of the address. A link, and Back, change it too.
 *
 * @param value as it is in the address
 */
export function useText(value: string): [string, (text: string) => void] {
  const [text, setText] = useState(value)
  // Before the field is shown: a later effect would take back what is typed meanwhile.
  useLayoutEffect(() => setText(value), [value])
  return [text, setText]
}
