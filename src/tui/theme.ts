import type { Tone } from './text/line.ts'

/** How Ink writes each tone. Without colours all of them are plain: every meaning is in the words and signs too. */
export const theme: Readonly<Record<Tone, { color?: string; bold?: boolean; dimColor?: boolean; inverse?: boolean }>> =
  {
    plain: {},
    dim: { dimColor: true },
    strong: { bold: true },
    accent: { color: 'cyan' },
    good: { color: 'green' },
    warn: { color: 'yellow' },
    bad: { color: 'red' },
    selected: { inverse: true },
  }
