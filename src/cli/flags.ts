import * as Flags from '@oclif/core/flags'
import { pageTypes } from '../pages/page.ts'

/**
 * The flags of every command. Their environment variables are read by src/config/load.ts and not by the parser,
 * so that what was typed and what was inherited stay apart.
 */
export const sharedFlags = {
  env: Flags.string({
    char: 'e',
    summary: 'Environment, with a cache and a state of its own (PAGECACHE_ENV, APP_ENV; else prod).',
    helpGroup: 'GLOBAL',
    helpValue: '<name>',
  }),
  'project-dir': Flags.string({
    summary: 'Directory that holds pagecache.yaml and var/ (PAGECACHE_PROJECT_DIR; else the working directory).',
    helpGroup: 'GLOBAL',
    helpValue: '<dir>',
  }),
  config: Flags.string({
    summary: 'Configuration file (PAGECACHE_CONFIG; else pagecache.yaml in the project directory).',
    helpGroup: 'GLOBAL',
    helpValue: '<file>',
  }),
  server: Flags.string({
    summary:
      'Run on the daemon at this URL (PAGECACHE_SERVER), as the client of PAGECACHE_CLIENT_ID and PAGECACHE_CLIENT_SECRET.',
    helpGroup: 'GLOBAL',
    helpValue: '<url>',
    exclusive: ['profile'],
  }),
  profile: Flags.string({
    summary: 'Run on the daemon of this profile of the configuration (PAGECACHE_PROFILE).',
    helpGroup: 'GLOBAL',
    helpValue: '<name>',
  }),
  'no-color': Flags.boolean({ summary: 'Print without colours (NO_COLOR).', helpGroup: 'GLOBAL' }),
}

export const pageTypeFlag = Flags.option({
  options: pageTypes,
  summary: 'Only pages of this type.',
  helpValue: '<type>',
})

export const dryRunFlag = Flags.boolean({ summary: 'Say what would go, and change nothing.' })

export const limitFlag = Flags.integer({ summary: 'How many to list, 1 to 1000.', default: 50, helpValue: '<n>' })

export const offsetFlag = Flags.integer({
  summary: 'How many to leave out at the beginning.',
  default: 0,
  helpValue: '<n>',
})

/** Of histories, which are shown oldest first and begun at the newest. */
export const newestOffsetFlag = Flags.integer({
  summary: 'How many of the newest to leave out.',
  default: 0,
  helpValue: '<n>',
})

export const noTuiFlag = Flags.boolean({ summary: 'Print lines instead of taking over the terminal.' })

export const softFlag = Flags.boolean({ summary: 'Mark the pages as stale instead of removing them.' })
