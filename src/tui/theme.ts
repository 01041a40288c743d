import type { Tone } from './text/line.ts'

/** The Ink style of each tone. Without colours all tones look alike; words and symbols carry the meaning too. */
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
