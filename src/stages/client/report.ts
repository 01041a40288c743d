import type { ActiveStage } from '../batch.ts'
import type { EventType } from '../stage.ts'

declare global {
  interface Window {
    /** Set by the shop: whether the visitor consents to sending and storing events. Defaults to consent. */
    vendorStageConsent?: boolean | (() => boolean | Promise<boolean>)
  }
}

/** Evaluated before each event, so that the visitor can change their mind. */
async function isAllowed(): Promise<boolean> {
  const consent = window.vendorStageConsent
  return typeof consent === 'function' ? await consent() : consent !== false
}

/** Sends an event to the server, as a beacon if possible, which survives leaving the page. */
export async function report(
  base: string,
  stage: ActiveStage,
  eventType: EventType,
  pageType: string | undefined,
): Promise<void> {
  if (!(await isAllowed())) return
  remember(stage, eventType)
  if (!stage.statsEnabled) return
  const body = JSON.stringify({ popupId: stage.id, eventType, pageType, requestUrl: location.pathname })
  const url = `${base}track`
  if (navigator.sendBeacon?.(url, body)) return
  await fetch(url, { method: 'POST', body, keepalive: true, headers: { 'Content-Type': 'application/json' } }).catch(
    () => {},
  )
}

/** Counts shows in the browser for a stage that does not record: the server cannot limit what it does not count. */
function remember({ id, statsEnabled, frequency }: ActiveStage, eventType: EventType): void {
  if (statsEnabled) return
  const key = `vendor-stage-${id}`
  try {
    if (eventType === 'impression') sessionStorage.setItem(key, String(showsOf(key) + 1))
    if (eventType === 'permanent_dismiss' || (eventType === 'impression' && frequency === 'once'))
      localStorage.setItem(key, '1')
  } catch {
    // Without storage the stage is shown again.
  }
}

/** Whether a stage that does not record may be shown once more. */
export function mayShow({ id, statsEnabled, frequency, maxPerSession }: ActiveStage): boolean {
  if (statsEnabled) return true
  const key = `vendor-stage-${id}`
  try {
    if (localStorage.getItem(key) !== null) return false
    return frequency === 'always' ? maxPerSession === null || showsOf(key) < maxPerSession : showsOf(key) === 0
  } catch {
    return true
  }
}

function showsOf(key: string): number {
  return Number(sessionStorage.getItem(key) ?? 0)
}
