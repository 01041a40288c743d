import { exitCodeMeanings } from '../src/cli/exit-codes.ts'
import { globalFlagNames } from '../src/cli/flags.ts'
import type { Manifest } from './surface.ts'

/** Generates docs/commands.md from the manifest. */
export function commandReference({ commands }: Manifest): string {
  const shared = Object.entries(commands['cache:stats']?.flags ?? {}).filter(([name]) => globalFlagNames.includes(name))
  const head = [
    '# Commands',
    '',
    'Generated from the commands by `npm run snapshot`.',
    '',
    '| exit code | meaning |',
    '|---|---|',
    ...Object.entries(exitCodeMeanings).map(([code, meaning]) => `| ${code} | ${meaning} |`),
    '',
    'Flags of every command:',
    '',
    ...flagLines(shared),
    '',
  ]
  return `${[...head, ...Object.entries(commands).flatMap(([id, command]) => section(id, command))].join('\n').trimEnd()}\n`
}

function section(id: string, command: Manifest['commands'][string]): string[] {
  const own = Object.entries(command.flags).filter(([name]) => !globalFlagNames.includes(name))
  const args = Object.entries(command.args).map(
    ([name, { description, options, required }]) =>
      `- \`${name.toUpperCase()}\`${required ? '' : ' (optional)'}: ${description ?? ''}${options ? ` (${options.join(', ')})` : ''}`,
  )
  const examples = (command.examples ?? []).flatMap(({ description, command: line }) => [
    `# ${description}`,
    line.replaceAll('<%= config.bin %>', 'pagecache').replaceAll('<%= command.id %>', id),
  ])
  return [
    `## ${id}`,
    '',
    ...[command.summary, command.description].flatMap((text) => (text ? [text, ''] : [])),
    ...(args.length + own.length > 0 ? [...args, ...flagLines(own), ''] : []),
    ...(examples.length > 0 ? ['```sh', ...examples, '```', ''] : []),
    `Exit codes: ${(command.exitCodes ?? []).join(', ')}.`,
    '',
  ]
}

function flagLines(flags: readonly [string, Manifest['commands'][string]['flags'][string]][]): string[] {
  return flags.map(([name, flag]) => {
    const value = flag.type === 'option' ? `=${flag.options?.join('|') ?? flag.helpValue ?? '<value>'}` : ''
    const initial = flag.default === undefined || flag.default === false ? '' : ` Default: ${String(flag.default)}.`
    return `- \`--${name}${value}\`: ${flag.summary ?? flag.description ?? ''}${initial}`
  })
}
