import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import './child.ts'

const removal = { recursive: true, force: true, maxRetries: 10 } as const
const scratches = new Set<string>()

// Exit handlers run in the order of registration: child.ts, imported above, has already killed the programs that write here.
process.once('exit', () => scratches.forEach((path) => rmSync(path, removal)))

/** A directory for a program that a test or a benchmark starts. Removed by `discard`, or when this process ends. */
export interface Scratch {
  path: string
  discard(): Promise<void>
}

export async function scratch(name: string): Promise<Scratch> {
  const path = await mkdtemp(join(tmpdir(), `${name}-`))
  scratches.add(path)
  return {
    path,
    async discard() {
      await rm(path, removal)
      scratches.delete(path)
    },
  }
}
