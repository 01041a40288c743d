import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'

const parentModule = new URL('../../src/daemon/parent.ts', import.meta.url).href

/** Runs in its own process: messages of a parent reach every listener of a process, including the test runner's. */
const script = `
  import { Parent } from ${JSON.stringify(parentModule)}
  const parent = new Parent({}, { sources: {} })
  const seen = []
  const check = () => seen.push(parent.hasNewConfig)
  parent.takeConfig()
  check()
  process.emit('message', { kind: 'reload', config: { sources: {} } })
  check()
  parent.takeConfig()
  check()
  console.log(JSON.stringify(seen))
  parent.disconnect()
`

it('a configuration that arrives during the start is not lost', () => {
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  expect(JSON.parse(output)).toEqual([false, true, false])
})
