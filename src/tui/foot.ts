import { hints, type KeyContext } from './keys.ts'
import { join, span, spread, type Line } from './text/line.ts'
import { cells } from './text/width.ts'
import type { ScreenInput } from './screen.ts'

/** A message stands for so long (milliseconds). */
const noticeFor = 8000

/** The last line: a question, the filter that is typed, a message, or the keys that make sense now. */
export function footLine({ view, now, leaving }: Pick<ScreenInput, 'view' | 'now' | 'leaving'>, width: number, context: KeyContext): Line {
  const { overlay, notice } = view
  if (overlay.kind === 'confirm-cancel') return [span(' Cancel this warmup? What is in the cache stays, the rest is not fetched.  ', 'warn'), ...key('y', 'cancel it'), span('  '), ...key('n', 'no')]
  if (overlay.kind === 'filter') return spread([span(' / ', 'accent'), span(view.filter), span('▏', 'accent')], [...key('enter', 'keep'), span('  '), ...key('esc', 'take back'), span(' ')], width)
  if (overlay.kind === 'help' || overlay.kind === 'detail') return [span(' '), ...key('esc', 'close'), span('  '), ...key('↑ ↓', 'scroll'), span('  '), ...key('q', leaving)]
  if (notice && now - notice.at < noticeFor) return [span(` ${notice.text}`, notice.tone)]
  // The way out stands at the end, and goes last.
  const out: Line = [...key('q', leaving), span(' ')]
  const room = width - 3 - out.reduce((sum, { text }) => sum + cells(text), 0)
  const parts = hints(context).filter(({ label }) => label !== 'q').map(({ label, hint }) => key(label, hint))
  return spread([span(' '), ...join(parts, room, '  ')], out, width)
}

function key(label: string, what: string): Line {
  return [span(label, 'accent'), span(` ${what}`, 'dim')]
}
