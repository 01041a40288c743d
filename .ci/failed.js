// Prints the files of a report that are worth another run, a line each: those with failures, if they are few and nothing else went wrong.
import { existsSync } from 'node:fs'
import { read } from './reports.js'

/** More than these are no accident, and take longer than the gate has. */
const most = 5

const [path] = process.argv.slice(2)
const { files, outside } = existsSync(path) ? read(path) : { files: {}, outside: ['no report'] }
const failed = Object.keys(files).filter((file) => files[file].failures.length > 0)
if (outside.length === 0 && failed.length <= most) for (const file of failed) console.log(file)
