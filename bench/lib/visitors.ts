/** The events of 500 visitors with a session: an impression, then a reaction to it. */
export function eventsOfVisitors(popupId: string): { cookie: string; body: string }[] {
  return Array.from({ length: 1000 }, (_, index) => {
    const visitor = Math.floor(index / 2)
    const eventType = index % 2 === 0 ? 'impression' : visitor % 4 === 0 ? 'cta_click' : 'close'
    return {
      cookie: `vendor-stage-session=${String(visitor).padStart(22, 'A')}`,
      body: JSON.stringify({ popupId, eventType, pageType: 'product', requestUrl: `/shoes/boots/${visitor}` }),
    }
  })
}
