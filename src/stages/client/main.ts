/**
 * The storefront script, served as /vendor-stage/client.js. It asks which stages this visitor may be shown, shows one after another, and
 * sends the four events by the count rules of spec 2, section 6. It waits until the page has nothing better to do.
 */
import type { ActiveStage } from '../batch.ts'
import type { EventType } from '../stage.ts'
import { mount } from './dialog.ts'
import { pressWithKeys } from './keys.ts'
import { mayShow, report } from './report.ts'

const script = (document.currentScript ??
  document.querySelector('script[src*="/vendor-stage/client.js"]')) as HTMLScriptElement | null
const base = script?.src.split('client.js', 1)[0] ?? '/vendor-stage/'
const pageType = script?.dataset['pageType']

/** How much of it has to be in the window to be seen. */
const seenShare = 0.5

async function start(): Promise<void> {
  const answer = await fetch(
    `${base}active${pageType === undefined ? '' : `?pageType=${encodeURIComponent(pageType)}`}`,
    { cache: 'no-store' },
  )
  if (!answer.ok) return
  const { items } = (await answer.json()) as { items: ActiveStage[] }
  for (const stage of items) {
    if (mayShow(stage)) await show(stage)
  }
}

/** Shows a stage; resolves when it is gone. */
function show(stage: ActiveStage): Promise<void> {
  return new Promise((resolve) => {
    const { dialog, close, never, remove } = mount(stage)
    // A consent hook that breaks has not agreed, and is no fault of the page's.
    const tell = (type: EventType) => void report(base, stage, type, pageType).catch(() => {})
    const seen = once(() => tell('impression'))
    const stopWatching = watchSeen(dialog, seen)
    // Who does something with it has seen it.
    const act = (type: EventType) => {
      seen()
      tell(type)
    }
    let gone = false
    let pressed: EventTarget | null = null
    const end = (type?: EventType) => {
      // One act, one event: what comes after the first is the end of it.
      if (gone) return
      gone = true
      if (type !== undefined) act(type)
      stopWatching()
      remove()
      resolve()
    }
    const onClick = (event: MouseEvent) => {
      const target = event.target as Element
      // The overlay belongs to the dialog, everything else stands in the box in it. Text that is marked beyond the edge is no click on it.
      if (target === dialog) return event.type === 'click' && pressed === dialog ? end('close') : undefined
      const layer = target.closest<HTMLElement>('[data-action],button,a[href]')
      const href = layer?.getAttribute('href') ?? null
      if (layer === null || (event.type === 'auxclick' && (event.button !== 1 || href === null))) return
      if (layer === close) return end('close')
      if (layer === never) return end('permanent_dismiss')
      act('cta_click')
      // With the middle button links are opened, and nothing else happens.
      if (event.type === 'auxclick') return
      const { action, target: to } = layer.dataset
      if (action === 'close' || action === 'scroll') {
        event.preventDefault()
        end()
      }
      if (action === 'scroll') scrollTo(to)
      const leads = href ?? (action === 'url' ? to : undefined)
      // What it leads to stands behind it.
      if (leads?.startsWith('#')) end()
      // A link is followed by the browser. The server has let web addresses through alone.
      if (href === null && leads !== undefined) location.assign(leads)
    }
    dialog.addEventListener('pointerdown', (event) => void (pressed = event.target))
    dialog.addEventListener('click', onClick)
    dialog.addEventListener('auxclick', onClick)
    pressWithKeys(dialog)
    // Escape is the X of the keyboard.
    dialog.addEventListener('cancel', (event) => {
      event.preventDefault()
      end('close')
    })
  })
}

function once(callback: () => void): () => void {
  let done = false
  return () => {
    if (!done) callback()
    done = true
  }
}

/** Calls back when the element is in the window and the window is looked at; not again after that. */
function watchSeen(element: Element, onSeen: () => void): () => void {
  let inView = false
  const check = () => {
    if (!inView || document.visibilityState !== 'visible') return
    stop()
    onSeen()
  }
  const observer = new IntersectionObserver(
    (entries) => {
      inView = entries.at(-1)!.intersectionRatio >= seenShare
      check()
    },
    { threshold: seenShare },
  )
  const stop = () => {
    observer.disconnect()
    document.removeEventListener('visibilitychange', check)
  }
  observer.observe(element)
  document.addEventListener('visibilitychange', check)
  return stop
}

function scrollTo(selector: string | undefined): void {
  try {
    document.querySelector(selector ?? '')?.scrollIntoView({ behavior: 'smooth' })
  } catch {
    // A selector that is none scrolls nowhere.
  }
}

/** After the page is loaded, and idle; a page that is rendered ahead waits until somebody looks at it. */
function whenIdle(): void {
  const go = () => void start().catch(() => {})
  if ('requestIdleCallback' in window) requestIdleCallback(go, { timeout: 3000 })
  else setTimeout(go, 200)
}

function whenLoaded(): void {
  if (document.readyState === 'complete') whenIdle()
  else addEventListener('load', whenIdle, { once: true })
}

const page = document as Document & { prerendering?: boolean; vendorStage?: true }
// A page that has the script twice shows its stages once.
if (page.vendorStage === undefined) {
  page.vendorStage = true
  if (page.prerendering === true) document.addEventListener('prerenderingchange', whenLoaded, { once: true })
  else whenLoaded()
}
