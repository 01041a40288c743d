const replacements: Readonly<Record<string, string>> = {
  '▁': '.',
  '▂': '.',
  '▃': ':',
  '▄': ':',
  '▅': '+',
  '▆': '+',
  '▇': '#',
  '█': '#',
  '░': '-',
  '▏': '|',
  '▎': '#',
  '▍': '#',
  '▌': '#',
  '▋': '#',
  '▊': '#',
  '▉': '#',
  '━': '=',
  '─': '-',
  '●': '*',
  '‖': '=',
  '✓': '+',
  '×': 'x',
  '›': '>',
  '…': '~',
  '–': '-',
  '≤': '<',
  '·': '|',
  '←': '<',
  '→': '>',
  '↑': '^',
  '↓': 'v',
}

/** The same text for a terminal whose character set has no signs of this kind: every one is one cell, as before. */
export function toAscii(text: string): string {
  return text.replaceAll(/[^\u0000-\u007f]/gu, (sign) => replacements[sign] ?? '?')
}
