/**
 * The storefront script, served as /vendor-stage/client.js. It fetches the stages for this visitor, shows one after another and sends
 * their events. An impression is sent once per show, and each act (click, close, dismissal) as one event. It starts when the page is
 * idle.
 */
import type { ActiveStage } from '../batch.ts'
import type { EventType } from '../stage.ts'
import { isModal, mount } from './dialog.ts'
import { onEscape, pressWithKeys } from './keys.ts'
import { mayShow, report } from './report.ts'
import { whenTriggered } from './trigger.ts'

const script = (document.currentScript ??
  document.querySelector('script[src*="/vendor-stage/client.js"]')) as HTMLScriptElement | null
const base = script?.src.split('client.js', 1)[0] ?? '/vendor-stage/'
const pageType = script?.dataset['pageType']

/** Visible share of the dialog that counts as seen. */
const seenShare = 0.5

/** The token of a preview link, which shows one stage without counting it. */
function previewToken(): string | undefined {
  return /^#vendor-stage-preview=([\w.-]+)$/.exec(location.hash)?.[1]
}

/** Whether the last input was a key: then the visitor has to see where the focus is. */
let usesKeys = false

async function start(): Promise<void> {
  const preview = previewToken()
  const answer = await (preview === undefined
    ? fetch(`${base}active${pageType === undefined ? '' : `?pageType=${encodeURIComponent(pageType)}`}`, {
        cache: 'no-store',
      })
    : fetch(`${base}preview`, { method: 'POST', body: preview }))
  const { items, message } = (await answer.json()) as { items?: ActiveStage[]; message?: string }
  if (preview !== undefined && !answer.ok && message) return show(notice(message), false, () => false)
  const begun = Date.now()
  let last: Promise<unknown> = Promise.resolve()
  for (const stage of items ?? []) {
    const isOver = () => stage.endsIn !== null && Date.now() - begun >= stage.endsIn
    // Stages wait for their triggers together, and for each other once they are open.
    void whenTriggered(stage.trigger).then(() => {
      last = last.then(() =>
        preview !== undefined || (mayShow(stage) && !isOver()) ? show(stage, preview === undefined, isOver) : undefined,
      )
    })
  }
}

/** A stage that says why there is none. */
function notice(headline: string): ActiveStage {
  const content = { headline, html: null, text: null, callToAction: null, dismissLabel: null, closeLabel: '×' }
  return { content, look: { position: 'centre' } } as ActiveStage
}

/**
 * Shows a stage. Resolves when it is closed.
 *
 * @param isOver whether its time window has ended
 */
function show(stage: ActiveStage, counts: boolean, isOver: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const { dialog, close, dismiss, remove } = mount(stage, document, !usesKeys)
    // A consent hook that throws means no consent, and must not break the page.
    const send = (type: EventType) => counts && void report(base, stage, type, pageType).catch(() => {})
    const seen = once(() => send('impression'))
    const stopWatching = watchSeen(dialog, seen)
    // Every act implies an impression.
    const act = (type: EventType) => {
      seen()
      send(type)
    }
    let gone = false
    let pressed: EventTarget | null = null
    const end = (type?: EventType) => {
      // Only the first act that closes the stage counts.
      if (gone) return
      gone = true
      if (type !== undefined) act(type)
      stopWatching()
      remove()
      resolve()
    }
    const onClick = (event: MouseEvent) => {
      const target = event.target as Element
      // The backdrop belongs to the dialog; everything else is in its inner box. A text selection that ends outside is not a click.
      if (target === dialog) return event.type === 'click' && pressed === dialog ? end('close') : undefined
      const layer = target.closest<HTMLElement>('[data-action],button,a[href]')
      const href = layer?.getAttribute('href') ?? null
      if (layer === null || (event.type === 'auxclick' && (event.button !== 1 || href === null))) return
      if (layer === close) return end('close')
      if (layer === dismiss) return end('permanent_dismiss')
      act('cta_click')
      // The middle button opens links in a new tab: the stage stays.
      if (event.type === 'auxclick') return
      const { action, target: to } = layer.dataset
      if (action === 'close' || action === 'scroll') {
        event.preventDefault()
        end()
      }
      if (action === 'scroll') scrollTo(to)
      const leads = href ?? (action === 'url' ? to : undefined)
      // The target of a fragment is behind the dialog.
      if (leads?.startsWith('#')) end()
      // The browser follows links itself. The server allows only web addresses.
      if (href === null && leads !== undefined) location.assign(leads)
    }
    dialog.addEventListener('pointerdown', (event) => void (pressed = event.target))
    dialog.addEventListener('click', onClick)
    dialog.addEventListener('auxclick', onClick)
    pressWithKeys(dialog)
    // Escape counts as a click on the close button.
    onEscape(dialog, isModal(stage.look), () => end('close'))
    // The visitor comes back to a page that the browser has kept with its open stage.
    addEventListener('pageshow', () => isOver() && end())
  })
}

function once(callback: () => void): () => void {
  let done = false
  return () => {
    if (!done) callback()
    done = true
  }
}

/** Calls back once, when enough of the element is in view and the page is visible. */
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
    // An invalid selector scrolls nowhere.
  }
}

/** Starts when the browser is idle. */
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
// A page that includes the script twice shows its stages once. A prerendered page waits until it is shown.
if (page.vendorStage === undefined) {
  page.vendorStage = true
  for (const type of ['keydown', 'pointerdown'])
    addEventListener(type, () => void (usesKeys = type === 'keydown'), { capture: true, passive: true })
  // A preview link that is opened on its own page does not load it again.
  addEventListener('hashchange', () => previewToken() !== undefined && location.reload())
  if (page.prerendering === true) document.addEventListener('prerenderingchange', whenLoaded, { once: true })
  else whenLoaded()
}
