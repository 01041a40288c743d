/** Bytes that every terminal with this sequence accepts. */
const longest = 50_000

/** The sequence that puts a text into the clipboard of the terminal, over SSH too (OSC 52). tmux needs `set -g set-clipboard on`. */
export function clipboardSequence(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).subarray(0, longest).toString('base64')}\u0007`
}
