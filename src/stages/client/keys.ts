/**
 * Lets keys press the layers that are no buttons by themselves, as they press buttons: Enter when it goes down, the space bar when it
 * comes up, so that the page which a closed stage leaves behind is not scrolled by it. A key that is held is one act, on buttons too.
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

/** Of what `mount` made a button: the server lets nobody else's `role` through. */
function layerOf({ target }: Event): HTMLElement | null {
  return (target as Element).getAttribute('role') === 'button' ? (target as HTMLElement) : null
}
