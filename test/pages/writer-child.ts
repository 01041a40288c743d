/**
 * Run by the crash tests: a serving process on the given directory. It takes pages for ever while it purges them, and
 * reports each purge once it is acknowledged, and how many pages wait to be stored. The body of a page is the number of
 * purges when its fetch began.
 */
import { openFilesystemStore } from '../../src/pages/filesystem-store.ts'
import { draft } from './draft.ts'

const [directory = '', prefix = ''] = process.argv.slice(2)
const pages = await openFilesystemStore({ directory, maxSize: null, now: Date.now, onWarning: () => {}, writer: true })
let version = 0

async function purgeForEver(): Promise<void> {
  for (;;) {
    version += 1
    const purged = version
    const done = await pages.remove({ kind: 'tags', tags: [prefix] }).then(
      () => true,
      () => false,
    )
    if (done) process.send!({ purged })
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 300))
  }
}

async function takeForEver(): Promise<void> {
  for (let n = 0; ; n += 1) {
    const fence = pages.fence()
    const body = Buffer.from(`${version} ${'x'.repeat(200)}`)
    const page = draft(`${prefix}${n % 5_000}`, { tags: [prefix], deleteAt: Number.POSITIVE_INFINITY })
    // What the thread has stored is heard once per 2,500 pages: on any machine that number waits.
    if (n % 2_500 === 0) {
      process.send!({ waiting: pages.waiting().pages })
      await new Promise((resolve) => setImmediate(resolve))
    }
    await pages.take(page, body, fence)
    if (n % 5_000 === 0) {
      const durable = { ...page, ...draft(`${prefix}durable`), tags: [`${prefix}durable`], deleteAt: page.deleteAt }
      const outcome = await pages.put(durable, Buffer.from(`${n}`), pages.fence())
      if (typeof outcome !== 'string') process.send!({ stored: n })
    }
  }
}

process.on('disconnect', () => process.exit(0))
void purgeForEver()
void takeForEver()
