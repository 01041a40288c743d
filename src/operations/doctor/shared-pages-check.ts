import type { ServerHealth } from '../../cluster/shared/health.ts'
import { failed, passed, warned, type Check, type Finding } from './finding.ts'

const name = 'shared pages'

/** A slower server, in milliseconds, delays each miss noticeably. */
const slow = 10

/** Whether Redis can be used for shared pages. */
export const checkSharedPages: Check = async (app) => {
  const pages = await app.sharedPages()
  if (pages === null) return []
  await pages.ready()
  const { read } = pages.faults
  if (read !== null)
    return [
      failed(
        name,
        `${pages.name} cannot be used: ${read}. Pages come from the shop.`,
        'Check that it runs, and cache.shared.url with its password.',
      ),
    ]
  try {
    return [judge(await pages.examine())]
  } catch (error) {
    return [
      failed(
        name,
        `${pages.name} refuses commands: ${(error as Error).message}`,
        'Check the rights of its user, its memory (maxmemory-policy allkeys-lru), and that it is the primary server.',
      ),
    ]
  }
}

function judge({ product, isRecent, latency, evicts }: ServerHealth): Finding {
  const message = `${product}, answers in ${latency.toFixed(1)} ms`
  if (!isRecent) return failed(name, `${product} is too old.`, 'Use Redis 6.2 or later, or Valkey, for shared pages.')
  if (evicts === 'noeviction')
    return warned(
      name,
      `${message}, and accepts no more pages once its memory is full.`,
      'Set maxmemory-policy to allkeys-lru.',
    )
  if (latency > slow)
    return warned(
      name,
      `${message}: every miss waits for it.`,
      'Use a server in the same data centre, or unset cache.shared.url.',
    )
  return passed(name, message)
}
