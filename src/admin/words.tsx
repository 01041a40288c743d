import { printable, readableUrl } from '../lib/safe-text.ts'

/** The longest text that a list shows in full, in characters. */
const longest = 160
/** How many characters of a longer text remain at its start and end. */
const [head, tail] = [90, 40]

/** A URL, tag or other key in a list. A long one is shortened in the middle until it is expanded. */
export function Key({ text }: { text: string }) {
  const shown = printable(readableUrl(text))
  if (shown.length <= longest) return <code>{shown}</code>
  const characters = Array.from(shown)
  return (
    <details class="long">
      <summary>
        <code>
          {characters.slice(0, head).join('')}…{characters.slice(-tail).join('')}
        </code>
      </summary>
      <code>{shown}</code>
    </details>
  )
}

/** The actor of a purge: an address, or a client with a shortened ID. */
export function Actor({ id }: { id: string | null }) {
  if (id === null) return <>–</>
  const isClient = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(id)
  return isClient ? (
    <span class="whole" title={id}>
      {id.slice(0, 13)}…
    </span>
  ) : (
    <>{printable(id)}</>
  )
}
