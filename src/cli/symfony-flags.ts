import * as Flags from '@oclif/core/flags'

const common = { helpGroup: 'SYMFONY' }
const harmless = { ...common, hidden: true }

/**
 * What deploy scripts write behind the commands that Symfony has under the same name. Those that mean nothing here are accepted and
 * do nothing, so that a copied line works as it is.
 */
export const symfonyFlags = {
  'no-interaction': Flags.boolean({
    ...common,
    char: 'n',
    summary: 'Ask nothing; what has to be confirmed needs --yes.',
  }),
  quiet: Flags.boolean({ ...common, char: 'q', aliases: ['silent'], summary: 'Print errors alone.' }),
  verbose: Flags.boolean({ ...harmless, char: 'v', summary: 'Accepted for Symfony scripts.' }),
  ansi: Flags.boolean({ ...harmless, allowNo: true, summary: 'Print with colours, or without (--no-ansi).' }),
  'no-debug': Flags.boolean({ ...harmless, summary: 'Accepted for Symfony scripts.' }),
}

/** Of commands that confirm nothing: `--yes` changes nothing. */
export const needlessYes = Flags.boolean({ ...harmless, char: 'y', summary: 'Accepted: nothing is asked.' })

/** Of `cache:clear`: no cache is warmed by it. */
export const warmerFlags = {
  'no-warmup': Flags.boolean({ ...harmless, summary: 'Accepted for Symfony scripts.' }),
  'no-optional-warmers': Flags.boolean({ ...harmless, summary: 'Accepted for Symfony scripts.' }),
}
