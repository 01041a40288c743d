/** The fields of a request that select its page, in lower case. */
export interface KeyedFields {
  /** Those in the primary key. */
  keyedFields: readonly string[]
  /** Those that the key holds as a class of visitors (`cache.variants.map`), while the shop gets what the visitor sent. */
  classified: readonly string[]
}

/** The key of a page that varies by one of these does not have its value as it was sent. */
const normalised: ReadonlySet<string> = new Set(['accept-language'])

/**
 * Whether the key of a page holds a field as the shop gets it, so that visitors with other values get another page.
 *
 * @param name in lower case
 */
export function isKeyed(
  { keyedFields, classified }: KeyedFields,
  vary: readonly string[] | '*',
  name: string,
): boolean {
  return !classified.includes(name) && (keyedFields.includes(name) || (vary.includes(name) && !normalised.has(name)))
}

/** Whether visitors with other values of a field get another page, apart from differences without meaning. */
export function isVaried({ classified }: KeyedFields, vary: readonly string[] | '*', name: string): boolean {
  return vary.includes(name) && !classified.includes(name)
}
