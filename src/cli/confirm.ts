import { createInterface } from 'node:readline/promises'
import * as Flags from '@oclif/core/flags'
import { PagecacheError } from '../errors.ts'
import { Output } from './output.ts'

/** Flag of every command with an irreversible effect. Symfony's commands call it `--force`. */
export const yesFlag = Flags.boolean({ char: 'y', aliases: ['force'], summary: 'Skip the confirmation.' })

export interface AskOptions {
  /** Whether the confirmation is skipped. */
  yes: boolean
  /** False with `--no-input`. */
  interactive: boolean
  /** What to add without a terminal. */
  hint?: string
}

/**
 * Asks a yes/no question on the terminal.
 *
 * @throws USAGE without a terminal or with `--no-input`, DECLINED unless the answer is yes, INTERRUPTED at Ctrl-C
 */
export async function confirm(question: string, options: AskOptions): Promise<void> {
  if (options.yes) return
  const answer = await ask(question, '[y/N]', options)
  if (!/^y(es)?$/i.test(answer)) throw declined()
}

/**
 * Asks the operator to choose on the terminal. With `--yes` the first choice, the safest one, is taken.
 *
 * @throws USAGE without a terminal or with `--no-input`, DECLINED for any other answer, INTERRUPTED at Ctrl-C
 */
export async function choose<const Choice extends string>(
  question: string,
  choices: readonly [Choice, ...Choice[]],
  options: AskOptions,
): Promise<Choice> {
  if (options.yes) return choices[0]
  const answer = await ask(question, `(${choices.join('/')})`, options)
  const chosen = choices.find((choice) => choice === answer.toLowerCase())
  if (chosen === undefined) throw declined()
  return chosen
}

async function ask(
  question: string,
  answers: string,
  { interactive, hint = 'Add --yes to confirm.' }: AskOptions,
): Promise<string> {
  if (!interactive || !process.stdin.isTTY || !process.stderr.isTTY) {
    throw new PagecacheError(
      'USAGE',
      `${question} Confirmation is required, but ${interactive ? 'there is no terminal' : '--no-input is set'}.`,
      { hint },
    )
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  const text = new Output(process.stderr).wrap(`${question} ${answers} `).join('\n')
  const closed = new Promise<string>((resolve, reject) => {
    prompt.once('close', () => resolve(''))
    prompt.once('SIGINT', () => reject(new PagecacheError('INTERRUPTED', 'Interrupted. Nothing was changed.')))
  })
  try {
    return (await Promise.race([prompt.question(text), closed])).trim()
  } finally {
    prompt.close()
  }
}

function declined(): PagecacheError {
  return new PagecacheError('DECLINED', 'Nothing was changed.')
}
