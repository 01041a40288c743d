import { setTimeout as sleep } from 'node:timers/promises'
import { useApp, useInput, useStdin, useStdout, useWindowSize } from 'ink'
import { useEffect, useSyncExternalStore } from 'react'
import { strokesOf } from './keys.ts'
import { Lines } from './lines.tsx'
import { mouse } from './sequences.ts'
import type { Session } from './session.ts'

/** Draws a session on the terminal and passes keys to it. */
export function Monitor({ session }: { session: Session }) {
  useSyncExternalStore(session.subscribe, session.version)
  const { columns, rows } = useWindowSize()
  const { suspendTerminal } = useApp()
  const { stdout } = useStdout()
  useEffect(() => {
    session.onSuspend = () =>
      void suspendTerminal(async () => {
        stdout.write(mouse.off)
        await stopGroup()
        stdout.write(mouse.on)
      })
  }, [session, suspendTerminal, stdout])
  useInput((input, key) => session.pressAll(strokesOf(input, key)))
  const { stdin } = useStdin()
  useEffect(() => {
    // Ink reads the mouse's reports and passes none of them on; each read emits them here.
    const onData = (chunk: unknown) => session.pressAll(session.mouse(String(chunk), columns, rows))
    stdin.on('data', onData)
    return () => void stdin.off('data', onData)
  }, [session, stdin, columns, rows])
  return <Lines lines={session.screen(columns, rows)} />
}

/** Suspends the process like Ctrl-Z in a normal terminal; ignored by the system without a shell to resume it. */
async function stopGroup(): Promise<void> {
  if (process.platform === 'win32') return
  process.kill(0, 'SIGTSTP')
  // Another thread may receive the signal; the code behind this call must run after the shell's `fg`.
  await sleep(100)
}
