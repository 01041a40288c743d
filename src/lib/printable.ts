// C0 and C1 controls, DEL, bidirectional overrides, zero-width characters: what can move the cursor,
// recolour the terminal or make a URL read as another one.
// oxlint-disable-next-line no-control-regex
const unprintable = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu

/** Text from outside, safe for a terminal or a log line: what could steer either is written as an escape. */
export function printable(text: string): string {
  return text.replaceAll(unprintable, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}
