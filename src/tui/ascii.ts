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

/** Text for terminals without Unicode: each symbol becomes one ASCII character of the same width. */
export function toAscii(text: string): string {
  return text.replaceAll(/[^\u0000-\u007f]/gu, (sign) => replacements[sign] ?? '?')
}
