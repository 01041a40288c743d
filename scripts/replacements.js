/**
 * Replaces texts in a file, each at every place.
 *
 * @param file path of the file, for the error
 * @param replacements pairs of a text, or a global regular expression, and what replaces it
 * @throws when the file no longer contains one of the texts, for example after an update of its library
 */
export function withReplacements(code, file, replacements) {
  return replacements.reduce((text, [from, to]) => {
    const replaced = text.replaceAll(from, to)
    if (replaced === text) throw new Error(`${file} no longer contains: ${from}`)
    return replaced
  }, code)
}
