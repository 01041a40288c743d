import { globSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const root = new URL('../', import.meta.url)
/** vitest itself runs it before each file. */
const setupFile = 'helpers/postgres-setup.ts'

it('no helper registers a hook when it is imported, which happens only for the first of the files that share a process', () => {
  const helpers = globSync('**/*.{ts,tsx}', { cwd: root }).filter((path) => !/\.test\.tsx?$/.test(path))
  expect(helpers).toContain(setupFile)
  const registering = helpers.filter((path) =>
    /^(?:before|after)(?:All|Each)\(/m.test(readFileSync(new URL(path, root), 'utf8')),
  )
  expect(registering).toEqual([setupFile])
})
