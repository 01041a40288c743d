import type { ActiveStage } from '../batch.ts'
import type { StageLook } from '../look.ts'
import type { CallToAction } from '../stage.ts'
import { style } from './style.ts'

/** A stage on the page. Clickable elements have their action in `data-action`. */
export interface StageDialog {
  dialog: HTMLDialogElement
  close: Element
  /** The "don't show again" button, if there is one. */
  dismiss: Element | null
  /** Removes the stage from the page; the focus returns to where it was. */
  remove(): void
}

/** Whether the page behind the stage is inert until it is closed. */
export function isModal({ position }: Pick<StageLook, 'position'>): boolean {
  return position === 'centre' || position === 'sheet'
}

/**
 * Shows a stage as a dialog of the browser. A modal one traps the focus and handles Escape. It is in a shadow tree, so that neither
 * the shop's styles nor ours leak.
 *
 * @param quiet whether the element that gets the focus has no ring until a key is pressed
 * @param inert whether it takes no focus and no clicks
 */
export function mount(
  { content, look }: Pick<ActiveStage, 'content' | 'look'>,
  page: Document,
  quiet: boolean,
  inert = false,
): StageDialog {
  const { headline, html, text, callToAction, dismissLabel, closeLabel } = content
  const host = page.createElement('vendor-stage')
  const shadow = host.attachShadow({ mode: 'open' })
  // A style sheet belongs to the window that makes it.
  const sheet = new page.defaultView!.CSSStyleSheet()
  sheet.replaceSync(style)
  shadow.adoptedStyleSheets = [sheet]
  const dialog = append(shadow, 'dialog', {})
  const box = append(dialog, 'div', {})
  dress(dialog, box, look)
  dialog.classList.toggle('quiet', quiet)
  dialog.inert = inert
  if (headline) {
    append(box, 'h2', { id: 'headline' }, headline)
    dialog.setAttribute('aria-labelledby', 'headline')
  } else dialog.setAttribute('aria-label', text?.slice(0, 80) || callToAction?.label || page.title)
  // The server has sanitised the HTML, and a parsed document runs no scripts.
  if (html !== null)
    append(box, 'section', {}).append(...new DOMParser().parseFromString(html, 'text/html').body.childNodes)
  // Clickable elements must be usable with the keyboard.
  for (const layer of box.querySelectorAll<HTMLElement>('[data-action]:not(button,a[href])')) {
    layer.setAttribute('role', 'button')
    layer.tabIndex = 0
  }
  if (text !== null) append(box, 'p', {}, text)
  if (callToAction !== null) appendButton(box, callToAction)
  const dismiss = dismissLabel === null ? null : append(box, 'button', { class: 'never', type: 'button' }, dismissLabel)
  const close = append(dialog, 'button', { class: 'x', type: 'button', 'aria-label': closeLabel }, '×')
  page.body.append(host)
  open(dialog, look, page.activeElement)
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

function appendButton(box: Node, { action, label, url, selector }: CallToAction): void {
  if (action === 'url') append(box, 'a', { class: 'cta', href: url ?? '' }, label)
  else {
    const layer = { 'data-action': action, 'data-target': selector ?? '' }
    append(box, 'button', { class: 'cta', type: 'button', ...layer }, label)
  }
}

/** Applies the look. Custom properties are set as values, so no text of an operator can end its declaration. */
function dress(dialog: HTMLElement, box: HTMLElement, { accent, font, image, imageAlt, ...look }: StageLook): void {
  const { matchMedia } = dialog.ownerDocument.defaultView!
  dialog.className = `${look.position} ${look.entrance}`
  dialog.classList.toggle(
    'dark',
    look.scheme === 'dark' || (look.scheme === 'auto' && matchMedia('(prefers-color-scheme:dark)').matches),
  )
  if (font) dialog.style.setProperty('--vendor-stage-font', font)
  if (accent) {
    dialog.style.setProperty('--vendor-stage-accent', accent)
    dialog.style.setProperty('--vendor-stage-accent-text', inkOn(accent))
  }
  // An image that the shop does not have, or does not allow, leaves no gap.
  if (image) {
    const picture = append(box, 'img', { class: 'pic', src: image, alt: imageAlt })
    picture.onerror = () => picture.remove()
  }
}

/** Black or white, whichever has more contrast with a colour `#rrggbb` (WCAG 2, with the gamma of sRGB as 2.2). */
function inkOn(colour: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => (parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2)
  return red! * 0.2126 + green! * 0.7152 + blue! * 0.0722 > 0.18 ? '#000' : '#fff'
}

/** Opens the dialog. One that is not modal takes the focus as a whole, so that no key presses its button, and not from a visitor who types. */
function open(dialog: HTMLDialogElement, look: StageLook, focused: Element | null): void {
  if (isModal(look)) return dialog.showModal()
  if (focused?.matches('input,textarea,select,[contenteditable]')) return void (dialog.open = true)
  dialog.tabIndex = -1
  dialog.show()
  dialog.focus()
}

function append<Name extends keyof HTMLElementTagNameMap>(
  parent: Node,
  name: Name,
  attributes: Record<string, string>,
  text = '',
): HTMLElementTagNameMap[Name] {
  const element = parent.ownerDocument!.createElement(name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.textContent = text
  parent.appendChild(element)
  return element
}
