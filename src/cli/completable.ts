/** Kinds of values that are completed from the state. */
export const valueKinds = [
  'channels',
  'clients',
  'messages',
  'profiles',
  'stages',
  'tags',
  'tasks',
  'urls',
  'warmups',
] as const
export type ValueKind = (typeof valueKinds)[number]

const byFlag: Readonly<Record<string, ValueKind>> = {
  'sales-channel': 'channels',
  tag: 'tags',
  prefix: 'urls',
  profile: 'profiles',
}

/** Arguments by `command argument`. */
const byArgument: readonly (readonly [pattern: RegExp, kind: ValueKind])[] = [
  [/^warmup:\w+ id$/, 'warmups'],
  [/^stage:\w+ id$/, 'stages'],
  [/^client:\w+ id$/, 'clients'],
  [/^messenger:failed:\w+ ids?$/, 'messages'],
  [/^scheduled-task:[\w-]+ name$/, 'tasks'],
  [/^profile:use name$/, 'profiles'],
  [/ tags$/, 'tags'],
  [/^(?:cache:inspect|purge:url|reverse-proxy:url-flow|warmup:start) urls?$/, 'urls'],
]

/** The kind of values that a flag takes; null for any text. */
export function kindOfFlag(name: string): ValueKind | null {
  return byFlag[name] ?? null
}

/** The kind of values that a command's arguments take; null for any text. */
export function kindOfArguments(command: string, names: readonly string[]): ValueKind | null {
  const kinds = names.map((name) => byArgument.find(([pattern]) => pattern.test(`${command} ${name}`))?.[1])
  return kinds.find((kind) => kind !== undefined) ?? null
}
