import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'

const parentModule = new URL('../../src/daemon/parent.ts', import.meta.url).href

/** In a process of its own: what a parent says comes to all that listen in a process, the test runner too. */
const script = `
  import { Parent } from ${JSON.stringify(parentModule)}
  const parent = new Parent({}, { sources: {} })
  const seen = []
  const look = () => seen.push(parent.hasNewConfig)
  parent.takeConfig()
  look()
  process.emit('message', { kind: 'reload', config: { sources: {} } })
  look()
  parent.takeConfig()
  look()
  console.log(JSON.stringify(seen))
  parent.leave()
`

it('a configuration that comes while a process starts with the one before is not forgotten', () => {
  const told = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  expect(JSON.parse(told)).toEqual([false, true, false])
})
