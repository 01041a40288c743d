import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { onTestFinished } from 'vitest'

/** Runs something once after the next call of a function of `node:fs`, as another program might at that moment. */
export function afterCall(name: 'mkdirSync' | 'closeSync', run: () => void): void {
  const original = fs[name] as (...args: unknown[]) => unknown
  const restore = () => {
    Object.assign(fs, { [name]: original })
    syncBuiltinESMExports()
  }
  const replaced = (...args: unknown[]) => {
    const result = original(...args)
    restore()
    run()
    return result
  }
  Object.assign(fs, { [name]: replaced })
  syncBuiltinESMExports()
  onTestFinished(restore)
}
