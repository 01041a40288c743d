import { setFlagsFromString } from 'node:v8'

/** V8's flags that change while a process runs, and their defaults. */
const defaults = { 'semi-space-growth-factor': 2, 'heap-growing-percent': 0 } as const
type HeapFlag = keyof typeof defaults

const chosen = new Map<HeapFlag, number>()
let loading = 0

function apply(flag: HeapFlag, value: number): void {
  setFlagsFromString(`--${flag}=${value}`)
}

export function setHeapFlag(flag: HeapFlag, value: number): void {
  chosen.set(flag, value)
  if (loading === 0) apply(flag, value)
}

/**
 * Gives the flags their defaults until the returned function is called. V8 accepts no compiled code that was saved with other values, so
 * what is loaded meanwhile, Node's own modules too, would be compiled anew.
 */
export function withDefaultFlags(): () => void {
  loading += 1
  if (loading === 1) for (const flag of chosen.keys()) apply(flag, defaults[flag])
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    loading -= 1
    if (loading === 0) for (const [flag, value] of chosen) apply(flag, value)
  }
}
