// Prints one line for the reports of all runs: how many tests passed, failed, and were skipped where any were.
import { readFileSync } from 'node:fs'

const sums = { passed: 0, failed: 0, skipped: 0 }
for (const path of process.argv.slice(2)) {
  const report = JSON.parse(readFileSync(path, 'utf8'))
  // A file that could not be loaded has no tests that could fail.
  const broken = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  ).length
  sums.passed += report.numPassedTests
  sums.failed += report.numFailedTests + broken
  sums.skipped += (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0)
}
const { passed, failed, skipped } = sums
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
