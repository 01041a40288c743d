import * as Flags from '@oclif/core/flags'

const ignored = { helpGroup: 'SYMFONY', hidden: true }

/**
 * Flags that deploy scripts pass to Symfony commands of the same name. Those without a meaning here are accepted and ignored, so
 * that existing scripts keep working.
 */
export const symfonyFlags = {
  verbose: Flags.boolean({ ...ignored, char: 'v', summary: 'Accepted for Symfony scripts.' }),
  ansi: Flags.boolean({ ...ignored, allowNo: true, summary: 'Print with or without colours.' }),
  'no-debug': Flags.boolean({ ...ignored, summary: 'Accepted for Symfony scripts.' }),
}

/** Accepts `--yes` in commands that ask for no confirmation. */
export const needlessYes = Flags.boolean({ ...ignored, char: 'y', summary: 'Accepted for Symfony scripts.' })

/** Accepts Symfony's warmup flags in commands that clear the cache. */
export const warmerFlags = {
  'no-warmup': Flags.boolean({ ...ignored, summary: 'Accepted for Symfony scripts.' }),
  'no-optional-warmers': Flags.boolean({ ...ignored, summary: 'Accepted for Symfony scripts.' }),
}
