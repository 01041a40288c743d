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
  return text.replaceAll(/[^\u0000-\u007f]/gu, (sign) => replacements[sign] ?? dotsOf(sign) ?? '?')
}

/** A braille cell as a sign of about its darkness; undefined for any other sign. */
function dotsOf(sign: string): string | undefined {
  const bits = sign.codePointAt(0)! - 0x2800
  if (bits < 0 || bits > 0xff) return undefined
  const count = bits.toString(2).replaceAll('0', '').length
  return count === 0 ? ' ' : count <= 3 ? '.' : count <= 6 ? ':' : '#'
}
