import type { NewMessage } from '../../queue/queue.ts'

export const deliverType = 'purge.deliver'

/**
 * The message that delivers all pending purges of one reverse proxy. Its key merges it with a waiting one: one message per proxy is
 * enough. `delay` in milliseconds.
 */
export function deliverMessage(proxy: string, delay = 0): NewMessage & { key: string } {
  const key = `proxy:${proxy}`
  return { transport: 'async', type: deliverType, payload: { proxy }, group: key, key, delay }
}
