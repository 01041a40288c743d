/** What a command takes, as oclif describes it. */
export interface CommandInput {
  flags: Readonly<Record<string, unknown>>
  args: Readonly<Record<string, { description?: string | undefined; options?: readonly string[] | undefined }>>
  /** Fields whose flag or argument does not follow from their name: `content.html` is `--html-file`. */
  fieldNames: Readonly<Record<string, string>>
}

/** `dateFrom`, `urls[0]`, `content.callToAction.url`, where a message names the field that it is about. */
const atHead = /(?<=^|; )[a-zA-Z]\w*(?:\.\w+|\[\d+\])*(?=: )/g
/** A field further on. Names of one word are left: they are words of the sentence as well. */
const inside = /\b[a-z]+(?:[A-Z][a-z]+)+\b/g

/** The message of an operation with its fields named as they are typed on the command line: `--from`, `URL`. */
export function namedAsTyped(message: string, input: CommandInput): string {
  return message
    .replaceAll(atHead, (path) => typedName(path, input) ?? path)
    .replaceAll(inside, (name) => typedName(name, input) ?? name)
}

function typedName(path: string, { flags, args, fieldNames }: CommandInput): string | null {
  const plain = path.replaceAll(/\[\d+\]/g, '')
  const own = fieldNames[plain]
  if (own !== undefined) return own
  const words = plain
    .split('.')
    .at(-1)!
    .replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  // batchSize: --batch-size; salesChannelId: --sales-channel; pageTypes: --page-type; dateFrom: --from; clientId: ID.
  for (const name of [words, words.replace(/-id$/, ''), words.replace(/s$/, ''), words.split('-').at(-1)!]) {
    if (Object.hasOwn(flags, name)) return `--${name}`
    if (Object.hasOwn(args, name)) return name.toUpperCase()
  }
  return null
}
