// Prints a line for each failure in the reports of all runs, then how many tests passed, failed and, if any, were skipped.
// Exits 1 unless all passed. For a file that was run again, the second result counts; its first failures are still listed.
import { existsSync } from 'node:fs'
import { read, readAgain } from './reports.js'

const sums = { passed: 0, skipped: 0, failed: 0 }
const fail = (failure) => {
  sums.failed += 1
  console.log(failure)
}
for (const path of process.argv.slice(2)) {
  // A run that ended early wrote no report.
  if (!existsSync(path)) {
    fail(`${path} is missing`)
    continue
  }
  const { files, outside } = read(path)
  const again = readAgain(path)
  for (const [file, first] of Object.entries(files)) {
    const { passed, skipped, failures } = again.files[file] ?? first
    sums.passed += passed
    sums.skipped += skipped
    for (const failure of failures) fail(failure)
    if (failures.length === 0) for (const failure of first.failures) console.log(`passed when run again: ${failure}`)
  }
  for (const failure of [...outside, ...again.outside]) fail(failure)
}
const { passed, failed, skipped } = sums
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
process.exitCode = failed > 0 ? 1 : 0
