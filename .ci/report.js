// A Vitest reporter: for each test file, writes the numbers of passed and skipped tests and a line per failure, to the file named by REPORT.
import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

export default class Report {
  onTestRunEnd(modules, unhandled, reason) {
    const files = Object.fromEntries(modules.map((module) => [relative('', module.moduleId), resultOf(module)]))
    const outside = unhandled.map((error) => `outside of tests: ${firstLine(error)}`)
    // Tests that did not start count as skipped, and files that did not start are missing.
    if (reason === 'interrupted') outside.push('the run was interrupted: tests are missing')
    writeFileSync(process.env['REPORT'], JSON.stringify({ files, outside }))
  }
}

function resultOf(module) {
  const tests = [...module.children.allTests()]
  const count = (state) => tests.filter((test) => test.result().state === state).length
  return { passed: count('passed'), skipped: count('skipped') + count('pending'), failures: failuresOf(module) }
}

/** Failed tests, hooks, and a file that could not be loaded. */
function failuresOf(module) {
  const path = relative('', module.moduleId)
  const failed = [...module.children.allSuites(), ...module.children.allTests('failed')]
  return [
    ...module.errors().map((error) => `${path}: ${firstLine(error)}`),
    ...failed.flatMap((each) => errorsOf(each).map((error) => `${path} > ${each.fullName}: ${firstLine(error)}`)),
  ]
}

/** A retried test has an error for each attempt; the first says most. */
function errorsOf(each) {
  if (each.type === 'suite') return each.errors()
  return [each.result().errors[0]]
}

function firstLine(error) {
  const lines = stripVTControlCharacters(error?.message ?? String(error)).split('\n')
  return (lines.find((line) => line.trim() !== '') ?? 'no message').trim().slice(0, 500)
}
