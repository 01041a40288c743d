import type { Manifest } from './surface.ts'

/** docs/commands.md: every command, made from the manifest. */
export function commandReference({ commands }: Manifest): string {
  const shared = Object.entries(commands['cache:stats']?.flags ?? {})
  const head = [
    '# Commands',
    '',
    'Made from the commands themselves by `npm run snapshot`.',
    '',
    '| exit code | |',
    '|---|---|',
    '| 0 | done; also where a question was answered with no: nothing was changed |',
    '| 1 | failed |',
    '| 2 | wrong usage or configuration |',
    '| 3 | nothing to act on, or wrong state |',
    '| 4 | not allowed: the daemon refused the client or its scope |',
    '| 5 | unreachable: the daemon does not answer, or the records or the page store cannot be opened or written |',
    '| 130 | interrupted |',
    '',
    'Every command takes these flags:',
    '',
    ...flagLines(shared),
    '',
  ]
  const names = new Set(shared.map(([name]) => name))
  return `${[...head, ...Object.entries(commands).flatMap(([id, command]) => section(id, command, names))].join('\n').trimEnd()}\n`
}

function section(id: string, command: Manifest['commands'][string], shared: ReadonlySet<string>): string[] {
  const own = Object.entries(command.flags).filter(([name]) => !shared.has(name))
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
