/** Turns reports of buttons and the wheel on, in SGR form, and off again (xterm). Selecting text then needs Shift in most terminals. */
export const mouse = { on: '\u001b[?1000h\u001b[?1006h', off: '\u001b[?1006l\u001b[?1000l' } as const
