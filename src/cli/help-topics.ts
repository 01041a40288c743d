import type { DescribedKey } from '../config/describe-keys.ts'
import { exitCodeMeanings } from './exit-codes.ts'
import { sharedFlags } from './flags.ts'
import { presentList, type Column } from './list.ts'
import type { Output } from './output.ts'

/** A page of help that belongs to no command. */
interface HelpTopic {
  summary: string
  show(output: Output): void | Promise<void>
}

const variables: readonly (readonly [name: string, meaning: string])[] = [
  ['PAGECACHE_ENV, APP_ENV', 'Environment (--env).'],
  ['PAGECACHE_PROJECT_DIR', 'Project directory (--project-dir).'],
  ['PAGECACHE_CONFIG', 'Configuration file (--config).'],
  ['PAGECACHE_SERVER', 'Daemon to run on (--server).'],
  ['PAGECACHE_CLIENT_ID', 'API client for that daemon.'],
  ['PAGECACHE_CLIENT_SECRET', 'Its secret.'],
  ['PAGECACHE_PROFILE', 'Profile to run on (--profile).'],
  ['PAGECACHE_<SECTION>_<KEY>', 'A value of the configuration: pagecache help configuration lists all.'],
  ['NO_COLOR', 'Print without colours (--no-color).'],
  ['CI', 'Print lines instead of opening the terminal UI.'],
  ['NODE_COMPILE_CACHE', 'Directory for compiled code; default: ~/.cache/pagecache.'],
]

export const helpTopics: Readonly<Record<string, HelpTopic>> = {
  flags: {
    summary: 'Flags of every command.',
    show: (output) => define(output, globalFlags()),
  },
  'exit-codes': {
    summary: 'What each exit code means.',
    show: (output) => define(output, Object.entries(exitCodeMeanings)),
  },
  environment: {
    summary: 'Environment variables.',
    show: (output) => define(output, variables),
  },
  configuration: {
    summary: 'Keys of pagecache.yaml with their defaults and environment variables.',
    show: showConfiguration,
  },
}

/** Prints names and their meanings in two columns. */
async function define(output: Output, rows: readonly (readonly [name: string, meaning: string])[]): Promise<void> {
  const width = Math.max(...rows.map(([name]) => name.length))
  for (const [name, meaning] of rows) await output.hanging(`${name.padEnd(width)}  `, meaning)
}

function globalFlags(): (readonly [string, string])[] {
  const flags = Object.entries(sharedFlags).map(([name, flag]): readonly [string, string] => {
    const value = flag.type === 'option' ? ` ${flag.helpValue ?? ''}` : ''
    return [`${flag.char === undefined ? '' : `-${flag.char}, `}--${name}${value}`, flag.summary ?? '']
  })
  return [...flags, ['--json', 'Print the value as JSON on stdout, and nothing else.'], ['-h, --help', 'Show help.']]
}

const keyColumns: readonly Column<DescribedKey>[] = [
  { name: 'key', value: ({ key }) => key },
  { name: 'default', value: (each) => JSON.stringify(each.default), kind: 'text' },
  { name: 'variable', value: ({ variable }) => variable, minor: true },
]

async function showConfiguration(output: Output): Promise<void> {
  const { describeKeys } = await import('../config/describe-keys.ts')
  await output.hanging('', 'A flag overrides a variable, which overrides the file, which overrides the default.')
  await output.hanging('', 'pagecache init writes a file with every key explained; config:show prints what applies.')
  output.line()
  await presentList({ columns: keyColumns, items: describeKeys(), noun: 'key', empty: '' }, output, null)
}
