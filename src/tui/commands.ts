import { keyTable, type Action, type KeyContext } from './keys.ts'

/** A command that can be typed after `:`. */
export interface Command {
  name: string
  action: Action
  /** The key of the action; a digit for a tab. */
  key: string
}

/** Actions that are quicker by their key, or have no meaning without a place on the screen. */
const unnamed: ReadonlySet<Action> = new Set<Action>([
  'command',
  'adjust',
  'close',
  'tab',
  'up',
  'down',
  'page-up',
  'page-down',
  'first',
  'last',
  'next-tab',
  'previous-tab',
  'next-panel',
  'previous-panel',
])

/** The commands that are available: the tabs by their titles, and the actions of the keys. */
export function commandsOf(titles: readonly string[], context: KeyContext): Command[] {
  const tabs = titles.length < 2 ? [] : titles.map((title, index) => ({ name: title, key: String(index + 1) }))
  return [
    ...tabs.map(({ name, key }) => ({ name: name.toLowerCase(), action: 'tab' as const, key })),
    ...keyTable
      .filter(({ action, when }) => !unnamed.has(action) && (when?.(context) ?? true))
      .map(({ action, keys }) => ({ name: action === 'detach' ? 'quit' : action, action, key: keys[0]! })),
  ]
}

/** The commands that begin with a text; the one that is called so exactly, where there is one. */
export function matching(commands: readonly Command[], text: string): readonly Command[] {
  const wanted = text.trim().toLowerCase()
  const exact = commands.find(({ name }) => name === wanted)
  return exact ? [exact] : commands.filter(({ name }) => name.startsWith(wanted))
}
