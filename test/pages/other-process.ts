/** Run by `fork`: a page store on the given directory, controlled over IPC. */
import { bodyOf, draft } from './draft.ts'
import { openFilesystemStore, clearApplicationCache } from '../../src/pages/filesystem-store.ts'
import type { PageStore, Selection } from '../../src/pages/page-store.ts'

export type Command =
  | { ask: 'put'; name: string; changes?: Parameters<typeof draft>[1] }
  | { ask: 'find'; name: string }
  | { ask: 'remove'; selection: Selection }
  | { ask: 'clearApplicationCache' }
  | { ask: 'putForEver' }
  | { ask: 'close' }

const directory = process.argv[2]!
const pages = await openFilesystemStore({ directory, maxSize: null, now: Date.now, onWarning: () => undefined })

async function answer(command: Command): Promise<unknown> {
  switch (command.ask) {
    case 'put':
      return typeof (await put(pages, command.name, command.changes)) !== 'string'
    case 'find':
      return pages.find(draft(command.name).key).length
    case 'remove':
      return pages.remove(command.selection)
    case 'clearApplicationCache':
      return clearApplicationCache(directory)
    case 'putForEver':
      void putForEver()
      return true
    case 'close':
      // Only closing keeps the process alive, as in a finished command.
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

process.on('message', (command: Command) => {
  void answer(command).then((value) => {
    if (process.connected) process.send!({ value })
  })
})
process.on('disconnect', () => process.exit(0))
process.send!({ value: 'ready' })
