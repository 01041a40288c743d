/** Makes a UUID with the log (1 to 15) and the row number in place of the random bits. */
function idIn(log: number, at: number, number: number): string {
  const time = toHex(at)
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8${log.toString(16)}00-${toHex(number)}`
}

/** 48 bits. */
function toHex(number: number): string {
  return number.toString(16).padStart(12, '0')
}

/** The public id of an invalidation: a UUID of version 7 made from its time and row number. It needs no column and no index. */
export function invalidationIdOf(row: { created_at: number; id: number }): string {
  return idIn(1, row.created_at, row.id)
}

/** The public id of a purge: a UUID of version 7 made from its time and row number. */
export function purgeIdOf(row: { created_at: number; id: number }): string {
  return idIn(2, row.created_at, row.id)
}
