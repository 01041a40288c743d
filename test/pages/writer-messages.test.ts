import { expect, it } from 'vitest'
import { Batches, type Batch } from '../../src/pages/batches.ts'
import type { PageDraft } from '../../src/pages/page.ts'
import { toRecord } from '../../src/pages/page-row.ts'
import { pieceSize } from '../../src/pages/piece-digests.ts'
import { toGroup, toGroupTask } from '../../src/pages/writer-messages.ts'
import { draft } from './draft.ts'

const fence = { generation: 'g', sequence: 1 }
const megabyte = 2 ** 20

function add(batches: Batches, page: PageDraft, body: Buffer): Batch {
  const unused = { size: body.length, hits: 0, hitMs: 0, usedAt: 0 }
  return batches.add({ ...page, ...unused }, body, { ...fence, sequence: body.length }, fence).batch
}

/** What the writer thread gets. */
function sent(batch: Batch) {
  const task = toGroupTask(batch)
  const own = task.memory.buffer instanceof ArrayBuffer ? [task.memory.buffer] : []
  return { files: task.files, group: toGroup(structuredClone(task, { transfer: own })) }
}

const pages: [PageDraft, Buffer][] = [
  [draft('a'), Buffer.from('a body\nof two lines')],
  [draft('empty'), Buffer.alloc(0)],
  [
    draft('grün', { url: 'https://shop.test/grün', headers: [['x-name', 'Größe ä 😀 \n "\u0000']] }),
    Buffer.from([0, 255]),
  ],
  [draft('medium'), Buffer.alloc(pieceSize + 1, 'm')],
  [draft('b', { tags: ['löwe', '😀'] }), Buffer.from('b')],
]

it('gives the writer each page of a group as it was, and large bodies files of their own', () => {
  const batches = new Batches()
  const [batch] = pages.map(([page, body]) => add(batches, page, body))
  const { group, files } = sent(batch!)
  expect(group.map(({ body }) => body)).toEqual(pages.map(([, body]) => body))
  expect(group.map(({ record }) => record.toString())).toEqual(pages.map(([page]) => toRecord(page)))
  expect(group.map(({ head }) => [head.key, head.url, head.tags])).toEqual(
    pages.map(([{ key, url, tags }]) => [key, url, tags]),
  )
  expect(group.map((page) => page.fence.sequence)).toEqual(pages.map(([, body]) => body.length))
  expect(group.map(({ file }) => file)).toEqual(files)
  expect(files.filter((file) => file === files[0])).toHaveLength(4)
  expect(new Set(files).size).toBe(2)
})

it.each([
  ['body', draft('large'), Buffer.alloc(megabyte, 'l')],
  ['text', draft('large', { tags: Array.from({ length: 40_000 }, (_, n) => `tag-${n}-ü`) }), Buffer.from('small')],
])('gives the writer a copy of a page with a large %s', (_, page, body) => {
  const batches = new Batches()
  const batch = add(batches, page, body)
  expect(batch.isShared).toBe(false)
  for (let attempt = 0; attempt < 2; attempt++) {
    const [found] = sent(batch).group
    expect(found!.body.equals(body)).toBe(true)
    expect(found!.record.toString()).toBe(toRecord(page))
    expect(found!.head.tags).toEqual(page.tags)
  }
  expect(batch.memory).toEqual(body)
})

it('gives a file a new name with each attempt', () => {
  const batch = add(new Batches(), draft('a'), Buffer.from('a'))
  expect(sent(batch).files).not.toEqual(sent(batch).files)
})
