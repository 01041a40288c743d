import { commandsOf, matching } from './commands.ts'
import { hints, type KeyContext } from './keys.ts'
import { join, lineWidth, span, spread, type Line } from './text/line.ts'
import { cells, cutMiddle } from './text/width.ts'
import type { ScreenInput } from './screen-input.ts'

/** Time that a message stays on screen, in milliseconds. */
const noticeFor = 8000

/** Bottom line: a question, the filter being typed, a message, or the keys available now. */
export function footLine(
  { name, tabs, view, now, leaving }: Pick<ScreenInput, 'name' | 'tabs' | 'view' | 'now' | 'leaving'>,
  width: number,
  context: KeyContext,
): Line {
  const { overlay, notice } = view
  const titles = tabs.map(({ title }) => title)
  if (overlay.kind === 'confirm-cancel') return cancelQuestion(name, width)
  if (overlay.kind === 'filter')
    return spread(
      [span(' / ', 'accent'), span(view.filter), span('▏', 'accent')],
      [...key('enter', 'keep'), span('  '), ...key('esc', 'clear'), span(' ')],
      width,
    )
  if (overlay.kind === 'command') {
    const names = matching(commandsOf(titles, context), overlay.text).map(({ name }): Line => [span(name, 'dim')])
    const typed: Line = [span(' :', 'accent'), span(overlay.text), span('▏', 'accent'), span('  ')]
    return [...typed, ...join(names, width - lineWidth(typed), '  ')]
  }
  if (notice && now - notice.at < noticeFor) return [span(` ${notice.text}`, notice.tone)]
  if (overlay.kind === 'help' || overlay.kind === 'detail')
    return [span(' '), ...key('esc', 'close'), span('  '), ...key('↑ ↓', 'scroll'), span('  '), ...key('q', leaving)]
  // The quit key is at the end and is dropped last.
  const out: Line = [...key('q', leaving), span(' ')]
  const room = width - 3 - out.reduce((sum, { text }) => sum + cells(text), 0)
  const parts = hints(context)
    .filter(({ label }) => label !== 'q')
    .map(({ label, hint }) => key(label, hint))
  return spread([span(' '), ...join(parts, room, '  ')], out, width)
}

/** The question, worded as on the command line. If it does not fit, the explanation is dropped first and the answers last. */
export function cancelQuestion(name: string, width: number): Line {
  const answers: Line = [...key('y', 'cancel it'), span('  '), ...key('n', 'no')]
  const room = width - lineWidth(answers)
  const [question, explanation] = [
    'Cancel this warmup?  ',
    'Cancel this warmup? Cached pages stay; the rest is not fetched.  ',
  ]
  const shortened = cutMiddle(name, Math.max(5, room - cells(` On : ${question}`)))
  const texts = [` On ${name}: ${explanation}`, ` On ${shortened}: ${question}`, ` ${question}`]
  return [span(texts.find((text) => cells(text) <= room) ?? ' Cancel?  ', 'warn'), ...answers]
}

function key(label: string, what: string): Line {
  return [span(label, 'accent'), span(` ${what}`, 'dim')]
}
