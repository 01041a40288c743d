import { useInput, useWindowSize } from 'ink'
import { useSyncExternalStore } from 'react'
import { nameKey } from './keys.ts'
import { Lines } from './lines.tsx'
import type { Session } from './session.ts'

/** A session on the terminal: draws its picture, hands it the keys. */
export function Monitor({ session }: { session: Session }) {
  useSyncExternalStore(session.subscribe, session.version)
  const { columns, rows } = useWindowSize()
  useInput((input, key) => session.press(nameKey(input, key), input))
  return <Lines lines={session.screen(columns, rows)} />
}
