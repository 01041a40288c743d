import type { Page } from 'playwright-core'

interface Picture {
  columns: number
  scheme: 'light' | 'dark'
  path: string
}

interface Look {
  paper: string
  ink: string
  /** The 16 colours of a terminal, then bright. */
  colours: readonly string[]
}

const looks: Record<Picture['scheme'], Look> = {
  light: {
    paper: '#fbfcfb',
    ink: '#1a2422',
    colours: '#1a2422 #a3271b #17644f #7c5000 #3247a8 #8d2f6b #0f6a78 #566661'.split(' '),
  },
  dark: {
    paper: '#121816',
    ink: '#e6ebe8',
    colours: '#303d39 #ff9d8a #63c7a8 #f0c060 #97abff #f28ba8 #6fcbd8 #e6ebe8'.split(' '),
  },
}

/** Draws what a terminal shows, as `tmux capture-pane -e` prints it. At this size a character is 8 pixels wide, so that blocks have no gaps. */
export async function drawTerminal(page: Page, text: string, { columns, scheme, path }: Picture): Promise<void> {
  const look = looks[scheme]
  await page.setContent(
    `<body style="margin:0;background:${look.paper}"><pre style="display:inline-block;margin:0;padding:12px;width:${columns}ch;
     background:${look.paper};color:${look.ink};font:13.289px/17px 'DejaVu Sans Mono',monospace">${toHtml(text, look)}</pre></body>`,
  )
  await page.locator('pre').screenshot({ path })
}

interface Style {
  ink: string | null
  paper: string | null
  bold: boolean
  dim: boolean
  inverse: boolean
}

const plain: Style = { ink: null, paper: null, bold: false, dim: false, inverse: false }

/** Converts SGR sequences (ECMA-48 §8.3.117) to markup; other sequences are left out. */
function toHtml(text: string, look: Look): string {
  let style = plain
  return text
    .split(/\x1b\[([\d;]*)m/)
    .map((part, index) => {
      if (index % 2 === 1) {
        style = applied(style, part === '' ? [0] : part.split(';').map(Number), look)
        return ''
      }
      const shown = part.replaceAll(/\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g, '')
      return shown === '' ? '' : `<span style="${toCss(style, look)}">${escaped(shown)}</span>`
    })
    .join('')
}

function applied(style: Style, codes: readonly number[], { colours }: Look): Style {
  const [code = 0, ...rest] = codes
  const next = (() => {
    if (code === 0) return plain
    if (code === 1) return { ...style, bold: true }
    if (code === 2) return { ...style, dim: true }
    if (code === 22) return { ...style, bold: false, dim: false }
    if (code === 7 || code === 27) return { ...style, inverse: code === 7 }
    if (code === 39) return { ...style, ink: null }
    if (code === 49) return { ...style, paper: null }
    if (code === 38 || code === 48) {
      const colour = rest[0] === 2 ? `rgb(${rest.slice(1, 4).join()})` : (colours[(rest[1] ?? 7) % 8] ?? null)
      return { ...style, [code === 38 ? 'ink' : 'paper']: colour }
    }
    if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) return { ...style, ink: colours[code % 10]! }
    if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) return { ...style, paper: colours[code % 10]! }
    return style
  })()
  const used = code === 38 || code === 48 ? (rest[0] === 2 ? 4 : 2) : 0
  const left = rest.slice(used)
  return left.length === 0 ? next : applied(next, left, { colours } as Look)
}

function toCss({ ink, paper, bold, dim, inverse }: Style, look: Look): string {
  const [front, back] = inverse ? [paper ?? look.paper, ink ?? look.ink] : [ink ?? look.ink, paper]
  return [
    `color:${front}`,
    ...(back === null ? [] : [`background:${back}`]),
    ...(bold ? ['font-weight:bold'] : []),
    ...(dim ? ['opacity:.65'] : []),
  ].join(';')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
