import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { render } from 'ink'
import { Monitor } from './monitor.tsx'
import { Session } from './session.ts'
import { clipboardSequence, mouse } from './sequences.ts'
import type { SessionEnd, WatchOptions } from './watch-options.ts'

export interface TuiOptions extends WatchOptions {
  /** Where `s` writes. */
  directory: string
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
}

/** Snapshots arrive more slowly; this rate makes key presses feel immediate. */
const maxFps = 15

/**
 * Takes over the terminal until the operator quits, the run ends or a signal arrives, and always restores the terminal.
 */
export async function runTui({ signal, directory, stdin, stdout, ...options }: TuiOptions): Promise<SessionEnd> {
  const save = async (file: string, content: string) => {
    const path = join(directory, file)
    // A report names URLs of the shop: only its owner may read it, and no file is overwritten.
    await writeFile(path, content, { flag: 'wx', mode: 0o600 })
    return path
  }
  const copy = (text: string) => void stdout.write(clipboardSequence(text))
  const session = new Session({
    ...options,
    save,
    copy,
    now: () => performance.now(),
    time: Date.now,
    random: Math.random,
  })
  const ink = render(<Monitor session={session} />, {
    stdin,
    stdout,
    alternateScreen: true,
    incrementalRendering: true,
    exitOnCtrlC: false,
    maxFps,
  })
  const leaveMouse = () => void stdout.write(mouse.off)
  stdout.write(mouse.on)
  // A second signal ends the process at once.
  process.on('exit', leaveMouse)
  const leave = () => ink.unmount()
  let failure: unknown = null
  // An uncaught error would be printed onto the alternate screen, which is about to disappear.
  const crash = (error: unknown) => {
    failure ??= error
    leave()
  }
  process.on('uncaughtException', crash)
  signal.addEventListener('abort', leave, { once: true })
  process.on('SIGHUP', leave)
  if (signal.aborted) leave()
  session.start()
  void session.left.then(leave)
  try {
    await ink.waitUntilExit()
  } catch (error) {
    failure ??= error
  } finally {
    process.off('uncaughtException', crash)
    signal.removeEventListener('abort', leave)
    process.off('SIGHUP', leave)
    session.stop()
    leaveMouse()
    process.off('exit', leaveMouse)
  }
  return { feeds: session.feeds, error: failure }
}
