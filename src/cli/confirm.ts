import { createInterface } from 'node:readline/promises'
import * as Flags from '@oclif/core/flags'
import { PagecacheError } from '../errors.ts'

/** Of every command that destroys what cannot be made again (contract section 6). Symfony's commands call it `--force`. */
export const yesFlag = Flags.boolean({ char: 'y', aliases: ['force'], summary: 'Do not ask.' })

/**
 * Asks on a terminal; elsewhere nobody is there to answer.
 *
 * @throws USAGE off a terminal without `--yes`, INTERRUPTED where the answer is not yes
 */
export async function confirm(question: string, yes: boolean): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new PagecacheError('USAGE', `${question} This has to be confirmed, and there is no terminal to ask on.`, { hint: 'Add --yes.' })
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  const closed = new Promise<string>((resolve) => prompt.once('close', () => resolve('')))
  const answer = await Promise.race([prompt.question(`${question} [y/N] `), closed])
  prompt.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new PagecacheError('INTERRUPTED', 'Nothing was changed.')
}
