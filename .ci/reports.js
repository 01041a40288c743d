// Reads the reports that .ci/report.js writes.
import { existsSync, readFileSync } from 'node:fs'

export const read = (path) => JSON.parse(readFileSync(path, 'utf8'))

/** The report of the second run of failed files, named REPORT-again.json. */
export function readAgain(path) {
  const again = path.replace(/\.json$/, '-again.json')
  return existsSync(again) ? read(again) : { files: {}, outside: [] }
}
