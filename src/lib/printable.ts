// C0 and C1 controls, DEL, bidirectional overrides and zero-width characters, which can move the cursor, recolour the
// terminal or disguise a URL.
const unprintable = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu

/** Escapes control and formatting characters in untrusted text, for terminals and logs. */
export function printable(text: string): string {
  return text.replaceAll(unprintable, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}
