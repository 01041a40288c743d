/** Run by `fork`: one page store on the directory given, asked over IPC. */
import { bodyOf, draft } from './draft.ts'
import { openFilesystemStore, clearApplicationCache } from '../../src/pages/filesystem-store.ts'
import type { PageStore, Selection } from '../../src/pages/page-store.ts'

export type Question =
  | { ask: 'put'; name: string; changes?: Parameters<typeof draft>[1] }
  | { ask: 'find'; name: string }
  | { ask: 'remove'; selection: Selection }
  | { ask: 'clearApplicationCache' }
  | { ask: 'putForEver' }
  | { ask: 'close' }

const directory = process.argv[2]!
const pages = await openFilesystemStore({ directory, maxSize: null, now: Date.now, onWarning: () => undefined })

async function answer(question: Question): Promise<unknown> {
  switch (question.ask) {
    case 'put':
      return (await put(pages, question.name, question.changes)) !== null
    case 'find':
      return pages.find(draft(question.name).key).length
    case 'remove':
      return pages.remove(question.selection)
    case 'clearApplicationCache':
      return clearApplicationCache(directory)
    case 'putForEver':
      void putForEver()
      return true
    case 'close':
      // Nothing but the closing itself keeps the process alive, as in a command that is done.
      process.channel?.unref()
      await pages.close()
      return 'closed'
  }
}

function put(store: PageStore, name: string, changes: Parameters<typeof draft>[1] = {}) {
  return store.put(draft(name, { deleteAt: Date.now() + 1e9, ...changes }), bodyOf(name), store.fence())
}

async function putForEver(): Promise<void> {
  for (let n = 0; ; n += 1) await put(pages, `p${n % 500}`)
}

process.on('message', (question: Question) => {
  void answer(question).then((value) => {
    if (process.connected) process.send!({ value })
  })
})
process.on('disconnect', () => process.exit(0))
process.send!({ value: 'ready' })
