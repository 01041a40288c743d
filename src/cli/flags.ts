import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import type { Arg, OutputFlags } from '@oclif/core/interfaces'
import { entityTypes, type EntityType } from '../operations/entity.ts'
import { pageTypes } from '../pages/page.ts'

/**
 * The flags of every command. src/config/load.ts reads their environment variables, not the parser, so that typed and inherited
 * values stay apart.
 */
export const sharedFlags = {
  env: Flags.string({
    char: 'e',
    summary: 'Environment with its own cache and state (PAGECACHE_ENV, APP_ENV; default: prod).',
    helpGroup: 'GLOBAL',
    helpValue: '<name>',
  }),
  'project-dir': Flags.string({
    summary: 'Directory with pagecache.yaml and var/ (PAGECACHE_PROJECT_DIR; default: working directory).',
    helpGroup: 'GLOBAL',
    helpValue: '<dir>',
  }),
  config: Flags.string({
    summary: 'Configuration file (PAGECACHE_CONFIG; default: pagecache.yaml in the project directory).',
    helpGroup: 'GLOBAL',
    helpValue: '<file>',
  }),
  server: Flags.string({
    summary: 'Run on the daemon at this URL (PAGECACHE_SERVER), with PAGECACHE_CLIENT_ID and PAGECACHE_CLIENT_SECRET.',
    helpGroup: 'GLOBAL',
    helpValue: '<url>',
    exclusive: ['profile'],
  }),
  profile: Flags.string({
    summary: 'Run on the daemon of this configured profile (PAGECACHE_PROFILE).',
    helpGroup: 'GLOBAL',
    helpValue: '<name>',
  }),
  'no-color': Flags.boolean({ summary: 'Print without colours (NO_COLOR).', helpGroup: 'GLOBAL' }),
  quiet: Flags.boolean({ char: 'q', aliases: ['silent'], summary: 'Print only errors.', helpGroup: 'GLOBAL' }),
  'no-input': Flags.boolean({
    char: 'n',
    aliases: ['no-interaction'],
    summary: 'Do not ask; confirmations require --yes.',
    helpGroup: 'GLOBAL',
  }),
  timeout: Flags.string({
    summary: 'Give up after this time, such as 30s, and exit with 1.',
    helpGroup: 'GLOBAL',
    helpValue: '<duration>',
  }),
  debug: Flags.boolean({
    summary: 'Print what was used, how long it took, and the causes of errors.',
    helpGroup: 'GLOBAL',
  }),
}

/** Names of the flags of every command, for help and completion. */
export const globalFlagNames: readonly string[] = [...Object.keys(sharedFlags), 'json']

export const pageTypeFlag = Flags.option({
  options: pageTypes,
  summary: 'Only pages of this type.',
  helpValue: '<type>',
})

/** How far back a range begins. */
export const sinceFlag = Flags.string({
  summary: 'How far back to look, such as 30m, 24h or 7d.',
  default: '24h',
  helpValue: '<duration>',
})

/** Flags of commands that can show their value again and again. */
export const watchFlags = {
  watch: Flags.boolean({ char: 'w', summary: 'Show it again and again until Ctrl-C.' }),
  interval: Flags.string({
    summary: 'Time between two showings; default: 2s.',
    helpValue: '<duration>',
    dependsOn: ['watch'],
  }),
}

export type WatchFlags = OutputFlags<typeof watchFlags>

export const dryRunFlag = Flags.boolean({ summary: 'Show what would be removed; change nothing.' })

export const limitFlag = Flags.integer({ summary: 'Number of entries, 1 to 1000.', default: 50, helpValue: '<n>' })

export const offsetFlag = Flags.integer({
  summary: 'Number of entries to skip.',
  default: 0,
  helpValue: '<n>',
})

/** Offset of a timeline, which shows the latest entries, oldest first. */
export const newestOffsetFlag = Flags.integer({
  summary: 'Number of the latest entries to skip.',
  default: 0,
  helpValue: '<n>',
})

export const noTuiFlag = Flags.boolean({ summary: 'Print lines instead of opening the terminal UI.' })

export const entityTypeArg = Args.string({
  description: 'Entity type.',
  options: [...entityTypes],
  required: true,
}) as Arg<EntityType>

export const softFlag = Flags.boolean({ summary: 'Mark the pages as stale instead of removing them.' })

export const hardFlag = Flags.boolean({
  summary: 'Remove the pages even if purge.softAbove would mark them as stale.',
  exclusive: ['soft'],
})
