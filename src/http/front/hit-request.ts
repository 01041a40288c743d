import type { HotRequest } from '../../cache/hot.ts'
import type { PlainRequest } from './plain-request.ts'

/** A GET or HEAD that is a whole chunk and that memory may answer; null for everything else. */
export function toHitRequest(head: PlainRequest, chunk: Buffer): HotRequest | null {
  return head.isRead && head.isHot && head.length === chunk.length ? head : null
}
