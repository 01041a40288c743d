import type { ActiveStage } from '../batch.ts'

/** A stage on the page. Clickable elements have their action in `data-action`. */
export interface StageDialog {
  dialog: HTMLDialogElement
  close: Element
  /** The "don't show again" button, if there is one. */
  dismiss: Element | null
  /** Removes the stage from the page; the focus returns to where it was. */
  remove(): void
}

const style = `dialog{box-sizing:border-box;width:min(30rem,calc(100vw - 2rem));max-height:90vh;padding:0;overflow:hidden;border:0;border-radius:.75rem;background:#fff;color:#1d2321;font:1rem/1.5 system-ui,sans-serif;box-shadow:0 1rem 3rem #0005}
dialog[open]{display:flex}
dialog::backdrop{background:#0008}
dialog>div{flex:1;padding:2.5rem 2rem 2rem;overflow:auto;overscroll-behavior:contain}
h2{margin:0 1rem .75rem 0;font-size:1.5rem;line-height:1.2}
p{margin:.5rem 0;white-space:pre-line}
img{max-width:100%;height:auto}
button{font:inherit}
button,[role=button]{cursor:pointer}
.x{position:absolute;top:.5rem;right:.5rem;width:2.75rem;height:2.75rem;border:0;border-radius:50%;background:#fffc;font-size:1.5rem;line-height:1;color:inherit}
.cta{display:inline-block;margin:1rem 0 0;padding:.75rem 1.5rem;border:0;border-radius:.5rem;background:#1f6f5c;color:#fff;font-weight:600;text-decoration:none}
.never{display:block;margin:1rem 0 0;padding:.25rem 0;border:0;background:0;color:#5b6762;font-size:.875rem;text-decoration:underline}
:focus-visible{outline:3px solid #2f6fed;outline-offset:2px}`

/**
 * Shows a stage as a modal dialog of the browser, which traps the focus and handles Escape. It is in a shadow tree, so that neither
 * the shop's styles nor ours leak.
 */
export function mount(stage: ActiveStage): StageDialog {
  const { headline, html, text, callToAction, dismissLabel, closeLabel } = stage.content
  const host = document.createElement('vendor-stage')
  const shadow = host.attachShadow({ mode: 'open' })
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(style)
  shadow.adoptedStyleSheets = [sheet]
  const dialog = append(shadow, 'dialog', {})
  const box = append(dialog, 'div', {})
  if (headline) {
    append(box, 'h2', { id: 'headline' }, headline)
    dialog.setAttribute('aria-labelledby', 'headline')
  } else dialog.setAttribute('aria-label', text?.slice(0, 80) || callToAction?.label || document.title)
  // The server has sanitised the HTML, and a parsed document runs no scripts.
  if (html !== null)
    append(box, 'section', {}).append(...new DOMParser().parseFromString(html, 'text/html').body.childNodes)
  // Clickable elements must be usable with the keyboard.
  for (const layer of box.querySelectorAll<HTMLElement>('[data-action]:not(button,a[href])')) {
    layer.setAttribute('role', 'button')
    layer.tabIndex = 0
  }
  if (text !== null) append(box, 'p', {}, text)
  if (callToAction !== null) {
    const { action, label, url, selector } = callToAction
    if (action === 'url') append(box, 'a', { class: 'cta', href: url ?? '' }, label)
    else
      append(
        box,
        'button',
        { class: 'cta', type: 'button', 'data-action': action, 'data-target': selector ?? '' },
        label,
      )
  }
  const dismiss = dismissLabel === null ? null : append(box, 'button', { class: 'never', type: 'button' }, dismissLabel)
  const close = append(dialog, 'button', { class: 'x', type: 'button', 'aria-label': closeLabel }, '×')
  document.body.append(host)
  dialog.showModal()
  return {
    dialog,
    close,
    dismiss,
    remove() {
      dialog.close()
      host.remove()
    },
  }
}

function append<Name extends keyof HTMLElementTagNameMap>(
  parent: Node,
  name: Name,
  attributes: Record<string, string>,
  text = '',
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.textContent = text
  parent.appendChild(element)
  return element
}
