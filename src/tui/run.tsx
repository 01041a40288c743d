import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { render } from 'ink'
import { Monitor } from './monitor.tsx'
import type { Feeds } from './poller.ts'
import { Session } from './session.ts'
import type { Source } from './source.ts'
import type { Tab } from './tab.ts'

export interface TuiOptions {
  source: Source
  tabs: readonly Tab[]
  leaving: string
  untilEnd: boolean
  /** Aborted by SIGINT and SIGTERM. */
  signal: AbortSignal
  /** Where `s` writes. */
  directory: string
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
}

/** More frames than snapshots are only drawn after key presses; this many are quick enough for those. */
const maxFps = 15

/**
 * Takes over the terminal until somebody leaves, the run has ended, or a signal comes. Whatever happens, the terminal is as
 * it was before afterwards.
 *
 * @returns what was known last
 * @throws what broke the screen
 */
export async function runTui({ source, tabs, leaving, untilEnd, signal, directory, stdin, stdout }: TuiOptions): Promise<Feeds> {
  const save = async (file: string, content: string) => {
    const path = join(directory, file)
    // A report names URLs of the shop: nobody else needs to read it, and no file is overwritten.
    await writeFile(path, content, { flag: 'wx', mode: 0o600 })
    return path
  }
  const session = new Session({ source, tabs, leaving, untilEnd, save, now: () => performance.now(), time: Date.now, random: Math.random })
  const ink = render(<Monitor session={session} />, { stdin, stdout, alternateScreen: true, incrementalRendering: true, exitOnCtrlC: false, maxFps })
  const leave = () => ink.unmount()
  // What nobody caught would be printed onto the screen that is about to go.
  const crash = (error: unknown) => ink.unmount(error instanceof Error ? error : new Error(String(error)))
  process.on('uncaughtException', crash)
  signal.addEventListener('abort', leave, { once: true })
  if (signal.aborted) leave()
  session.start()
  try {
    await Promise.race([session.left.then(leave), ink.waitUntilExit()])
    await ink.waitUntilExit()
    return session.feeds
  } finally {
    process.off('uncaughtException', crash)
    signal.removeEventListener('abort', leave)
    session.stop()
  }
}
