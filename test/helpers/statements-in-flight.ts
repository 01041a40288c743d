import pg from 'pg'

let count = 0
let isCounting = false

/** How many statements wait for PostgreSQL's answer: a virtual clock must not go on meanwhile. */
export function statementsInFlight(): number {
  return count
}

/** Counts the statements and connections of this process from now on. Test files that share a process call it several times. */
export function countStatements(): void {
  if (isCounting) return
  isCounting = true
  for (const [owner, method] of [
    [pg.Client.prototype, 'query'],
    [pg.Client.prototype, 'connect'],
  ] as const) {
    const original = owner[method] as (...args: unknown[]) => unknown
    Object.assign(owner, {
      [method](this: unknown, ...args: unknown[]) {
        const [query] = args
        if (query instanceof pg.Query) countOne(query as pg.Query & { callback: (...answer: unknown[]) => void })
        const result = original.apply(this, args)
        if (result instanceof Promise) {
          count += 1
          void result.catch(() => {}).finally(() => (count -= 1))
        }
        return result
      },
    })
  }
}

/** Counts a query that calls back, instead of returning a promise. */
function countOne(query: { callback: (...answer: unknown[]) => void }): void {
  const { callback } = query
  count += 1
  query.callback = (...answer) => {
    count -= 1
    callback(...answer)
  }
}
