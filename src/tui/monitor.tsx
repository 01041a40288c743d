import { setTimeout as sleep } from 'node:timers/promises'
import { useApp, useInput, useWindowSize } from 'ink'
import { useEffect, useSyncExternalStore } from 'react'
import { strokesOf } from './keys.ts'
import { Lines } from './lines.tsx'
import type { Session } from './session.ts'

/** A session on the terminal: draws its picture, hands it the keys. */
export function Monitor({ session }: { session: Session }) {
  useSyncExternalStore(session.subscribe, session.version)
  const { columns, rows } = useWindowSize()
  const { suspendTerminal } = useApp()
  useEffect(() => {
    session.onSuspend = () => void suspendTerminal(stopGroup)
  }, [session, suspendTerminal])
  useInput((input, key) => session.pressAll(strokesOf(input, key)))
  return <Lines lines={session.screen(columns, rows)} />
}

/** Suspends the process like Ctrl-Z in a normal terminal; ignored by the system without a shell to resume it. */
async function stopGroup(): Promise<void> {
  if (process.platform === 'win32') return
  process.kill(0, 'SIGTSTP')
  // The signal may be taken by another thread: what follows is to happen after the shell's `fg`.
  await sleep(100)
}
