import { mount } from '../stages/client/dialog.ts'
import { allowedAttributes, allowedTags } from '../stages/html-rules.ts'
import { defaultLook, readLook, type StageLook } from '../stages/look.ts'
import type { StageContent } from '../stages/stage.ts'

/** What the preview shows. */
export interface Scene {
  content: StageContent
  look: StageLook
  /** Whether the visitor's system is dark. */
  dark: boolean
  /** Whether the entrance is played. */
  plays: boolean
  /** URL of the channel whose page shows it, and the origins that may deliver images. */
  shop: string
  origins: readonly string[]
}

/** Elements whose text is no content. */
const unread = new Set(['script', 'style', 'textarea', 'title', 'noscript', 'option'])

/**
 * Shows a stage in a frame with the code that visitors run. Returns what the operator should know about it.
 */
export function drawStage(page: Document, scene: Scene): string {
  page.body.className = scene.dark ? 'dark' : ''
  page.querySelector('vendor-stage')?.remove()
  const { look, fault } = lookOf(scene)
  const { html } = scene.content
  mount({ content: { ...scene.content, html: html === null ? null : harmless(html, scene) }, look }, page, true, true)
  return fault
}

/** The look as it would be stored. */
function lookOf({ look, dark, plays, ...scene }: Scene): { look: StageLook; fault: string } {
  const shown = {
    entrance: plays ? look.entrance : 'none',
    scheme: look.scheme === 'auto' ? (dark ? 'dark' : 'light') : look.scheme,
  } as const
  try {
    const stored = readLook(look, [...scene.origins])
    const image = addressOf(stored.image, scene)
    const fault =
      stored.image === null || image !== null ? '' : 'Images of other hosts are only shown on pages of the shop.'
    return { look: { ...stored, ...shown, image }, fault }
  } catch (error) {
    return { look: { ...defaultLook, position: look.position, ...shown }, fault: (error as Error).message }
  }
}

/** The URL of an image that this page may load; null for all others. */
function addressOf(image: string | null, { shop, origins }: Pick<Scene, 'shop' | 'origins'>): string | null {
  if (image === null || !URL.canParse(image, shop)) return null
  const { origin, href } = new URL(image, shop)
  return origin === location.origin || origins.includes(origin) ? href : null
}

/** HTML as the daemon would store it, with images that this page may load. */
function harmless(html: string, scene: Scene): string {
  const { body } = new DOMParser().parseFromString(html, 'text/html')
  for (const element of body.querySelectorAll('*')) {
    const tag = element.localName
    if (unread.has(tag)) element.remove()
    else if (!allowedTags.includes(tag)) element.replaceWith(...element.childNodes)
    else keepAttributes(element, [...allowedAttributes['*']!, ...(allowedAttributes[tag] ?? [])])
  }
  for (const image of body.querySelectorAll('img[src]')) {
    const address = addressOf(image.getAttribute('src'), scene)
    if (address === null) image.removeAttribute('src')
    else image.setAttribute('src', address)
  }
  return body.innerHTML
}

function keepAttributes(element: Element, allowed: readonly string[]): void {
  for (const name of element.getAttributeNames()) if (!allowed.includes(name)) element.removeAttribute(name)
}

const pageStyle = `body{margin:0;background:#f4f4f2;font:16px/1.5 system-ui,sans-serif}
i{display:block;background:#dfdfda}
header{display:flex;gap:24px;align-items:center;padding:20px 5vw;background:#fff}
header i{width:80px;height:14px}
header i:first-child{width:140px;height:26px;margin-right:auto}
main{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:24px;padding:32px 5vw}
main i{aspect-ratio:4/5}
main i:first-child{grid-column:1/-1;aspect-ratio:auto;height:220px}
.dark{background:#161616}
.dark header{background:#222}
.dark i{background:#333}`

/** Draws a page of a shop without words, behind the stage. */
export function drawPage(page: Document): void {
  const sheet = new page.defaultView!.CSSStyleSheet()
  sheet.replaceSync(pageStyle)
  page.adoptedStyleSheets = [sheet]
  for (const [name, blocks] of [
    ['header', 4],
    ['main', 17],
  ] as const) {
    const part = page.createElement(name)
    part.append(...Array.from({ length: blocks }, () => page.createElement('i')))
    page.body.append(part)
  }
}
