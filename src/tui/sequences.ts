/** Bytes that every terminal with this sequence accepts. */
const longest = 50_000

/** The sequence that puts a text into the clipboard of the terminal, over SSH too (OSC 52). tmux needs `set -g set-clipboard on`. */
export function clipboardSequence(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).subarray(0, longest).toString('base64')}\u0007`
}

/** Turns reports of buttons and the wheel on, in SGR form, and off again (xterm). Selecting text then needs Shift in most terminals. */
export const mouse = { on: '\u001b[?1000h\u001b[?1006h', off: '\u001b[?1006l\u001b[?1000l' } as const
