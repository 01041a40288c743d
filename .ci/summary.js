// Prints a line for each failure in the reports of all runs and, last, how many tests passed, failed, and were skipped where any were.
import { existsSync, readFileSync } from 'node:fs'

/** A run that ended early wrote no report. */
const read = (path) =>
  existsSync(path)
    ? JSON.parse(readFileSync(path, 'utf8'))
    : { passed: 0, skipped: 0, failures: [`${path} is missing`] }

const sums = { passed: 0, skipped: 0, failed: 0 }
for (const { passed, skipped, failures } of process.argv.slice(2).map(read)) {
  sums.passed += passed
  sums.skipped += skipped
  sums.failed += failures.length
  for (const failure of failures) console.log(failure)
}
const { passed, failed, skipped } = sums
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
