import { styleText } from 'node:util'
import type { Config } from '@oclif/core/config'
import { run } from '@oclif/core/run'
import { allowsColor, forbidColor } from '../config/environment.ts'
import { printable } from '../lib/safe-text.ts'
import { unknownCommand } from './command-not-found.ts'
import { loadOclif, type OclifOptions } from './load-oclif.ts'
import { Output } from './output.ts'
import { describeCauses, toFailure, type Failure } from './failure.ts'

/** Runs a command line and sets the exit code. Does not exit, so that pending output is flushed. */
export async function main(argv: readonly string[], options: OclifOptions): Promise<void> {
  if (argv.some((word) => word === '--no-color' || word === '--no-ansi')) forbidColor()
  try {
    if (argv[0] === 'help' && (await showHelpTopic(argv[1]))) return
    const given = withoutHelpWord(argv)
    const config = await loadOclif(options, (known) => withColons(given, known))
    const words = withColons(given, config)
    assertKnown(words, config)
    await run(words, config)
  } catch (error) {
    if (isExit(error)) {
      process.exitCode = error.oclif.exit
      return
    }
    const failure = toFailure(error)
    process.exitCode = failure.exit
    if (isGiven('--json', argv)) printJson(failure)
    else printText(failure, allowsColor())
    if (isGiven('--debug', argv) && failure.stack === null) process.stderr.write(describeCauses(error))
  }
}

/** Shows a page of help that belongs to no command: `help exit-codes`. Returns false for any other word. */
async function showHelpTopic(name = ''): Promise<boolean> {
  const { helpTopics } = await import('./help-topics.ts')
  const topic = Object.hasOwn(helpTopics, name) ? helpTopics[name] : undefined
  await topic?.show(new Output())
  return topic !== undefined
}

/** Accepts `help cache:stats` for `cache:stats --help`. */
function withoutHelpWord(argv: readonly string[]): string[] {
  const [first, ...rest] = argv
  return first === 'help' ? [...rest, '--help'] : [...argv]
}

/** Accepts `cache stats` for `cache:stats`, for which oclif would print the help of `cache`. */
function withColons(argv: readonly string[], config: Config): string[] {
  const end = argv.findIndex((word) => word.startsWith('-'))
  const words = end === -1 ? argv : argv.slice(0, end)
  if (config.findCommand(words[0] ?? '')) return [...argv]
  const count = words.findLastIndex((_, index) => config.findCommand(words.slice(0, index + 1).join(':'))) + 1
  return count < 2 ? [...argv] : [words.slice(0, count).join(':'), ...argv.slice(count)]
}

/** Rejects unknown commands with --help too, for which oclif does not call its hook, and `cache nonsense`, which it takes for `cache`. */
function assertKnown([first = '-', second = '-']: readonly string[], config: Config): void {
  if (first.startsWith('-') || config.findCommand(first)) return
  if (!config.findTopic(first)) throw unknownCommand(first, config)
  if (!second.startsWith('-')) throw unknownCommand(`${first}:${second}`, config)
}

function isExit(error: unknown): error is { oclif: { exit: number } } {
  return error instanceof Error && 'code' in error && error.code === 'EEXIT'
}

function isGiven(flag: string, argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return (end === -1 ? argv : argv.slice(0, end)).includes(flag)
}

function printJson({ message, code, hint }: Failure): void {
  process.stdout.write(`${JSON.stringify({ success: false, message, code, hint }, null, 2)}\n`)
}

/** Where the manual explains a failure that the message alone does not resolve. */
function guideTo({ code, exit, stack }: Failure): string | null {
  return stack === null && [1, 4, 5].includes(exit) ? `See docs/troubleshooting.md#${code.toLowerCase()}` : null
}

function printText(failure: Failure, color: boolean): void {
  const { message, stack, exit } = failure
  const hint = failure.hint ?? guideTo(failure)
  const output = new Output(process.stderr)
  const toLines = (text: string) => output.wrap(text.split('\n').map(printable).join('\n')).join('\n')
  const paint = (label: string) => (color ? styleText('red', label, { stream: process.stderr }) : label)
  process.stderr.write(`${exit === 0 ? toLines(message) : toLines(`Error: ${message}`).replace('Error:', paint)}\n`)
  if (hint) process.stderr.write(`${toLines(hint)}\n`)
  if (stack) process.stderr.write(`${stack}\nThis is a bug in pagecache. Please report it.\n`)
}
