import { PagecacheError } from '../errors.ts'
/** The flags and arguments of a command, as oclif describes them. */
export interface CommandInput {
  flags: Readonly<Record<string, unknown>>
  args: Readonly<Record<string, { description?: string | undefined; options?: readonly string[] | undefined }>>
  /** Flags of input fields that cannot be derived from the field's name: `content.html` is `--html-file`. */
  fieldNames: Readonly<Record<string, string>>
}

/** The field at the start of a message: `dateFrom`, `urls[0]`, `content.callToAction.url`. */
const leadingField = /(?<=^|; )[a-zA-Z]\w*(?:\.\w+|\[\d+\])*(?=: )/g
/** Fields within a sentence. Single words are skipped, because they may be ordinary words. */
const fieldInSentence = /\b[a-z]+(?:[A-Z][a-z]+)+\b/g

/** Replaces field names in the message of an operation's error by the flags and arguments that the operator typed: `--from`, `URL`. */
export function withTypedNames({ code, message, cause, hint }: PagecacheError, input: CommandInput): PagecacheError {
  const typed = message
    .replaceAll(leadingField, (path) => typedName(path, input) ?? path)
    .replaceAll(fieldInSentence, (name) => typedName(name, input) ?? name)
  return new PagecacheError(code, typed, { cause, ...(hint !== null && { hint }) })
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
