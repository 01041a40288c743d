// Prints one line: how many tests passed, failed, and were skipped where any were.
import { readFileSync } from 'node:fs'

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const { numPassedTests: passed, numFailedTests: failed, numPendingTests: pending = 0, numTodoTests: todo = 0 } = report
// A file that could not be loaded has no tests that could fail.
const broken = report.testResults.filter(
  (file) => file.status === 'failed' && file.assertionResults.length === 0,
).length
const skipped = pending + todo
console.log(`${passed} passed, ${failed + broken} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
