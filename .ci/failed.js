// Prints the test files to run again, one per line: those with failures, if there are few and nothing else went wrong.
import { existsSync } from 'node:fs'
import { read } from './reports.js'

/** More failed files than this are no accident, and running them again would take too long. */
const most = 5

const [path] = process.argv.slice(2)
const { files, outside } = existsSync(path) ? read(path) : { files: {}, outside: ['no report'] }
const failed = Object.keys(files).filter((file) => files[file].failures.length > 0)
if (outside.length === 0 && failed.length <= most) for (const file of failed) console.log(file)
