import type { ActiveStage } from '../batch.ts'
import type { EventType } from '../stage.ts'

declare global {
  interface Window {
    /** Set by the shop: whether the visitor agreed that events are sent and remembered. Without it they did. */
    vendorStageConsent?: boolean | (() => boolean | Promise<boolean>)
  }
}

/** Asked before each event, so that a visitor may change their mind. */
async function isAllowed(): Promise<boolean> {
  const consent = window.vendorStageConsent
  return typeof consent === 'function' ? await consent() : consent !== false
}

/** Tells the server of one act. It survives the page: a beacon goes on when the page is gone. */
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

/** What the server does not count it cannot limit either: of a stage that does not record the browser itself knows. */
function remember({ id, statsEnabled, frequency }: ActiveStage, eventType: EventType): void {
  if (statsEnabled) return
  const key = `vendor-stage-${id}`
  try {
    if (eventType === 'impression') sessionStorage.setItem(key, String(showsOf(key) + 1))
    if (eventType === 'permanent_dismiss' || (eventType === 'impression' && frequency === 'once'))
      localStorage.setItem(key, '1')
  } catch {
    // A browser without storage shows it again.
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
