/**
 * Makes elements with role `button` respond to keys as real buttons do: Enter on keydown, the space bar on keyup, so that it does not
 * scroll the page after the stage has closed. Holding a key down counts as one press, on real buttons too.
 */
export function pressWithKeys(dialog: HTMLElement): void {
  let pressed: EventTarget | null = null
  dialog.addEventListener('keydown', (event) => {
    const isSpace = event.key === ' '
    if (!isSpace && event.key !== 'Enter') return
    const layer = layerOf(event)
    if (layer !== null || (event.repeat && !isSpace)) event.preventDefault()
    if (event.repeat) return
    pressed = isSpace ? layer : null
    if (!isSpace) layer?.click()
  })
  dialog.addEventListener('keyup', (event) => {
    if (event.key !== ' ' || pressed === null) return
    const layer = pressed === event.target ? layerOf(event) : null
    pressed = null
    layer?.click()
  })
}

/** Calls back when Escape is pressed in a dialog, and shows where the focus is from the first key on. */
export function onEscape(dialog: HTMLElement, isModal: boolean, close: () => void): void {
  const end = (event: Event) => {
    // The next stage must not take this key as its own.
    event.preventDefault()
    close()
  }
  dialog.addEventListener('cancel', end)
  dialog.addEventListener('keydown', (event) => {
    dialog.classList.remove('quiet')
    // The browser makes it a `cancel` for modal dialogs only.
    if (!isModal && event.key === 'Escape') end(event)
  })
}

/** The element that `mount` gave the role `button`; the server strips `role` from the content. */
function layerOf({ target }: Event): HTMLElement | null {
  return (target as Element).getAttribute('role') === 'button' ? (target as HTMLElement) : null
}
