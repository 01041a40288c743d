import { execFile, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { until } from './until.ts'

const execute = promisify(execFile)

export const hasTmux = spawnSync('tmux', ['-V']).status === 0

/** A real terminal with a shell command in it. */
export interface Terminal {
  /** The visible text; with `escapes` including colours. */
  screen(options?: { escapes?: boolean }): Promise<string>
  /** Waits until the text is visible, and returns the screen. */
  see(text: string | RegExp): Promise<string>
  keys(...keys: string[]): Promise<void>
  resize(columns: number, rows: number): Promise<void>
  /** Closes the terminal, as a person closes its window. */
  close(): Promise<void>
  /** A format variable of the tmux pane, such as `alternate_on`. */
  flag(name: string): Promise<string>
}

/** Starts a command line of `sh` in a new terminal. Both end with the test. */
export async function openTerminal(
  command: string,
  options: { columns: number; rows: number; cwd: string; env?: Record<string, string> },
): Promise<Terminal> {
  const socket = `pagecache-test-${randomUUID()}`
  // A bare environment, so that a developer's own settings do not change the output. tmux passes its server's environment to panes.
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    HOME: options.cwd,
    LANG: 'C.UTF-8',
    TERM: 'xterm-256color',
    ...options.env,
  }
  const tmux = async (...args: string[]) =>
    (await execute('tmux', ['-L', socket, '-f', '/dev/null', ...args], { env, cwd: options.cwd })).stdout
  await tmux(
    'new-session',
    '-d',
    '-x',
    String(options.columns),
    '-y',
    String(options.rows),
    '-s',
    'test',
    `${command}; exec sleep 600`,
  )
  onTestFinished(async () => void (await tmux('kill-server').catch(() => {})))
  const screen = async ({ escapes = false } = {}) =>
    tmux('capture-pane', '-p', '-t', 'test', ...(escapes ? ['-e'] : []))
  return {
    screen,
    see: async (text) =>
      until(async () => {
        const shown = await screen()
        if (typeof text === 'string' ? !shown.includes(text) : !text.test(shown))
          throw new Error(`${text} is not to be seen in\n${shown}`)
        return shown
        // Each look starts a process.
      }, 150),
    keys: async (...keys) => void (await tmux('send-keys', '-t', 'test', ...keys)),
    resize: async (columns, rows) =>
      void (await tmux('resize-window', '-t', 'test', '-x', String(columns), '-y', String(rows))),
    close: async () => void (await tmux('kill-server')),
    flag: async (name) => (await tmux('display-message', '-p', '-t', 'test', `#{${name}}`)).trim(),
  }
}
