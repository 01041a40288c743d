import { matching, type Command } from './commands.ts'
import type { KeyOutcome, View } from './view.ts'

/** Keys that answer a question or type a text. */

/** Handles a key that answers the question whether to cancel. */
export function answer(view: View, key: string): KeyOutcome {
  if (view.overlay.kind !== 'confirm-cancel') return { view }
  const { id } = view.overlay
  if (key === 'y')
    return {
      view: { ...view, overlay: { kind: 'none' }, asked: { action: 'cancel', id } },
      effect: { kind: 'perform', action: 'cancel', id },
    }
  if (key === 'ctrl+c') return { view, effect: { kind: 'detach' } }
  return key === 'n' || key === 'escape' || key === 'q' ? { view: { ...view, overlay: { kind: 'none' } } } : { view }
}

/** Handles a key while the filter is typed; the list follows at once. `input` may be a pasted text. */
export function type(view: View, key: string, input: string): KeyOutcome {
  if (view.overlay.kind !== 'filter') return { view }
  const { before } = view.overlay
  if (key === 'ctrl+c') return { view, effect: { kind: 'detach' } }
  if (key === 'return') return { view: { ...view, overlay: { kind: 'none' } } }
  if (key === 'escape') return { view: { ...view, overlay: { kind: 'none' }, filter: before } }
  return { view: { ...view, filter: edit(view.filter, key, input) } }
}

/** A line of text after a key. */
function edit(text: string, key: string, input: string): string {
  if (key === 'backspace') return [...text].slice(0, -1).join('')
  if (key === 'ctrl+u') return ''
  return key !== input || /[\p{Cc}]/u.test(input) ? text : (text + input).slice(0, 200)
}

/** Handles a key while a command is typed. `chosen`: the command to run. */
export function typeCommand(
  view: View,
  key: string,
  input: string,
  commands: readonly Command[],
): KeyOutcome & { chosen?: Command; unknown?: string } {
  if (view.overlay.kind !== 'command') return { view }
  const { text } = view.overlay
  const closed: View = { ...view, overlay: { kind: 'none' } }
  if (key === 'ctrl+c') return { view, effect: { kind: 'detach' } }
  if (key === 'escape' || (key === 'backspace' && text === '')) return { view: closed }
  const found = matching(commands, text)
  if (key === 'return') {
    if (text.trim() === '') return { view: closed }
    return found.length === 1 ? { view: closed, chosen: found[0]! } : { view: closed, unknown: text }
  }
  const next = key === 'tab' ? (found[0]?.name ?? text) : edit(text, key, input)
  return { view: { ...view, overlay: { kind: 'command', text: next } } }
}
