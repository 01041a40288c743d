import { createInterface } from 'node:readline/promises'
import * as Flags from '@oclif/core/flags'
import { PagecacheError } from '../errors.ts'

/** Of every command that destroys what cannot be made again (contract section 6). Symfony's commands call it `--force`. */
export const yesFlag = Flags.boolean({ char: 'y', aliases: ['force'], summary: 'Do not ask.' })

/**
 * Asks on a terminal, unless it was said that nothing may be asked.
 *
 * @throws USAGE where it cannot ask without `--yes`, DECLINED where the answer is not yes, INTERRUPTED at Ctrl-C
 */
export async function confirm(question: string, { yes, mayAsk }: { yes: boolean; mayAsk: boolean }): Promise<void> {
  if (yes) return
  const answer = await ask(question, '[y/N]', mayAsk)
  if (!/^y(es)?$/i.test(answer)) throw declined()
}

/**
 * Asks which of several on a terminal; elsewhere, or with `--yes`, the first is taken: the careful one.
 *
 * @throws USAGE off a terminal without `--yes`, DECLINED where the answer is none of them, INTERRUPTED at Ctrl-C
 */
export async function choose<const Choice extends string>(
  question: string,
  choices: readonly [Choice, ...Choice[]],
  yes: boolean,
): Promise<Choice> {
  if (yes) return choices[0]
  const answer = await ask(question, `(${choices.join('/')})`)
  const chosen = choices.find((choice) => choice === answer.toLowerCase())
  if (chosen === undefined) throw declined()
  return chosen
}

async function ask(question: string, answers: string, mayAsk = true): Promise<string> {
  if (!mayAsk || !process.stdin.isTTY || !process.stderr.isTTY) {
    throw new PagecacheError(
      'USAGE',
      `${question} This has to be confirmed, and ${mayAsk ? 'there is no terminal to ask on' : '--no-interaction forbids to ask'}.`,
      { hint: 'Add --yes.' },
    )
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  const left = new Promise<string>((resolve, reject) => {
    prompt.once('close', () => resolve(''))
    prompt.once('SIGINT', () => reject(new PagecacheError('INTERRUPTED', 'Nothing was changed.')))
  })
  try {
    return (await Promise.race([prompt.question(`${question} ${answers} `), left])).trim()
  } finally {
    prompt.close()
  }
}

function declined(): PagecacheError {
  return new PagecacheError('DECLINED', 'Nothing was changed.')
}
