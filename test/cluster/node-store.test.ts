import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { nodeStore, type NodeStoreOptions } from '../../src/cluster/node-store.ts'
import { placesIn } from '../../src/pages/places.ts'
import { tempDir } from '../helpers/temp-dir.ts'

function open(directory: string) {
  const pages = { fence: () => ({ generation: 'g', sequence: 0 }) } as unknown as NodeStoreOptions['pages']
  return nodeStore({ pages, directory, toMatcher: () => () => false, oldestUnfinished: async () => null })
}

it('a position counts for the index beside which it was written, and not for a copy of it', async () => {
  const [directory, copy] = [join(await tempDir(), 'here'), join(await tempDir(), 'copy')]
  const { pages, index } = placesIn(directory)
  await mkdir(pages, { recursive: true })
  await writeFile(index, 'the index')
  await open(directory).save({ identity: 'database', number: 7 })
  expect(open(directory).load()).toEqual({ identity: 'database', number: 7 })
  // Copied while the node ran, its index may be older than its position.
  await cp(directory, copy, { recursive: true })
  expect(open(copy).load()).toBe(null)
})

it('a position of an earlier version, without the file of its index, counts', async () => {
  const directory = await tempDir()
  const { pages, index } = placesIn(directory)
  await mkdir(pages, { recursive: true })
  await writeFile(index, 'the index')
  await writeFile(join(pages, 'position'), JSON.stringify({ generation: 'g', identity: 'database', number: 7 }))
  expect(open(directory).load()).toEqual({ identity: 'database', number: 7 })
})
